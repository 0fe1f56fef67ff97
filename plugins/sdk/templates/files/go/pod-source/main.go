// A pod source: its pods are those that stand in its own configuration.
package main

import (
	"encoding/json"
	"fmt"
	"log/slog"

	"witlet.dev/plugin/v0_2/podsource"
)

// source is the pod source. Its fields are those of config: in the plugin's entry, such as {"pods": [{"kind": "Pod", …}]}.
type source struct {
	// Pods are manifests, none for a source without pods.
	Pods []json.RawMessage `json:"pods"`
}

func (s source) Validate(func(warning string)) error {
	if s.Pods == nil {
		return podsource.Invalid("pods", "a list of manifests is needed")
	}
	for index, pod := range s.Pods {
		// A map: for encoding/json, fields of a struct are the same in capitals, for Kubernetes they aren't.
		var manifest map[string]json.RawMessage
		var kind any
		if json.Unmarshal(pod, &manifest) != nil || json.Unmarshal(manifest["kind"], &kind) != nil || kind != "Pod" {
			return podsource.Invalid(fmt.Sprintf("pods[%d]", index), "is no manifest of kind Pod")
		}
	}
	return nil
}

func (s source) Poll(cursor string) (podsource.Poll, error) {
	// A source that can't find out what it has returns podsource.Errorf("Unavailable", …), never podsource.Empty(): for the host that would be
	// the end of all its pods.
	current := podsource.Fingerprint(s.Pods...)
	if cursor == current {
		return podsource.Unchanged().At(current), nil
	}
	manifests := make([]string, len(s.Pods))
	for i, pod := range s.Pods {
		manifests[i] = string(pod)
	}
	slog.Info("pods have changed", "count", len(manifests))
	return podsource.All(manifests).At(current), nil
}

func init() { podsource.Export[source]() }

func main() {}
