// A pod source: its pods are those that stand in its own configuration.
package main

import (
	"encoding/json"
	"fmt"
	"log/slog"

	"witlet.dev/plugin/podsource"
)

// config is what stands under config: in the plugin's entry, such as {"pods": [{"kind": "Pod", …}]}.
type config struct {
	// Pods are manifests, none for a source without pods.
	Pods []json.RawMessage `json:"pods"`
}

type source struct{}

func (source) Validate(config *config) error {
	if config.Pods == nil {
		return fmt.Errorf("pods: a list of manifests is needed")
	}
	for index, pod := range config.Pods {
		// A map: for encoding/json, fields of a struct are the same in capitals, for Kubernetes they aren't.
		var manifest map[string]json.RawMessage
		var kind any
		if json.Unmarshal(pod, &manifest) != nil || json.Unmarshal(manifest["kind"], &kind) != nil || kind != "Pod" {
			return fmt.Errorf("pods[%d]: is no manifest of kind Pod", index)
		}
	}
	return nil
}

func (source) Poll(cursor string, config *config) (podsource.Poll, error) {
	// A source that can't find out what it has returns podsource.Errorf("Unavailable", …), never an empty list: for the host that would be
	// the end of all its pods.
	current := podsource.Fingerprint(config.Pods...)
	if cursor == current {
		return podsource.Poll{Snapshot: podsource.Unchanged{}, Cursor: current}, nil
	}
	manifests := make([]string, len(config.Pods))
	for i, pod := range config.Pods {
		manifests[i] = string(pod)
	}
	slog.Info("pods have changed", "count", len(manifests))
	return podsource.Poll{Snapshot: podsource.All(manifests), Cursor: current}, nil
}

func init() { podsource.Export(source{}) }

func main() {}
