// A component that calls every function of contract 0.2 and tells what it got: the host's golden vectors
// (host/conformance/vectors/host-0.2) say what that must be. A key is the function that was called: pod.name of the role's types,
// node/name of an interface.
package main

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"witlet.dev/plugin/v0_2/admission"
	"witlet.dev/plugin/v0_2/data"
	"witlet.dev/plugin/v0_2/host"
	"witlet.dev/plugin/v0_2/metrics"
	"witlet.dev/plugin/v0_2/podsource"
	_ "witlet.dev/plugin/v0_2/podsource/feedback"
	"witlet.dev/plugin/v0_2/probe"
	"witlet.dev/plugin/v0_2/secret"
)

func init() {
	admission.Export(admission.Made[handler])
	probe.Export[prober, parameters]()
	podsource.Export[source]()
}

func main() {}

// object is a JSON object.
type object map[string]any

// none is a key that nothing has.
const none = "none"

// text is a value as JSON.
func text(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// maybe is a value, or null.
func maybe[T any](value T, ok bool) any {
	if !ok {
		return nil
	}
	return value
}

// both is what a getter returns for what there is, and for what there isn't.
func both[T any](getter func(string) (T, bool), there, notThere string) []any {
	return []any{maybe(getter(there)), maybe(getter(notThere))}
}

// pairs are a map's keys and values, by key.
func pairs(of map[string]string) [][2]string {
	list := make([][2]string, 0, len(of))
	for _, key := range slices.Sorted(maps.Keys(of)) {
		list = append(list, [2]string{key, of[key]})
	}
	return list
}

// each is what is reported of each thing, an empty list if there is none.
func each[T, U any](things []T, tell func(T) U) []U {
	list := make([]U, len(things))
	for i, thing := range things {
		list[i] = tell(thing)
	}
	return list
}

// texts are texts, an empty list if there are none.
func texts(list []string) []string { return append([]string{}, list...) }

// code is an error's code.
func code(err error) string {
	if of := (*host.Failure)(nil); errors.As(err, &of) {
		return of.Code
	}
	return err.Error()
}

// ownError is an error of the plugin's own.
func ownError() error {
	return &host.Failure{
		Code: "NoTable", Message: "the table can't be read", RetryAfterMilliseconds: 7000, Details: map[string]string{"rows": "7"},
	}
}

func tellOwnError() object {
	kept := host.Kept(ownError())
	return object{
		"errors/error.code":                     kept.Code,
		"errors/error.message":                  kept.Message,
		"errors/error.retry-after-milliseconds": kept.RetryAfterMilliseconds,
		"errors/error.detail":                   both(kept.Detail, "rows", none),
	}
}

func tellHost(configured bool) object {
	metrics.Add("asked", 2, metrics.Label{"how", "once"})
	metrics.Observe("answered", 0.5)
	name, isKnown := host.NodeName()
	zone, isInZone := host.NodeZone()
	return object{
		"config/get":       configured,
		"log/enabled":      host.LogEnabled(host.Error),
		"metrics/add":      true,
		"metrics/observe":  true,
		"node/name":        maybe(name, isKnown),
		"node/label":       both(host.NodeLabel, "disk", none),
		"node/labels":      pairs(host.NodeLabels()),
		"node/zone":        maybe(zone, isInZone),
		"node/addresses":   texts(host.NodeAddresses()),
		"node/allocatable": both(host.NodeAllocatable, "cpu", none),
		"features/has":     []bool{host.HasFeature("shadow"), host.HasFeature("teleport")},
		"secret/get":       each([]string{"given", "other"}, tellSecret),
	}
}

func tellSecret(name string) string {
	value, err := secret.Get(name)
	if err != nil {
		return code(err)
	}
	return string(value)
}

func tellData() object {
	return object{"data/names": data.Names(), "data/open": []any{tellSnapshot("list"), tellSnapshot(none)}}
}

func tellSnapshot(name string) any {
	snapshot, err := data.Open(name)
	if err != nil {
		return code(err)
	}
	size := snapshot.Size()
	read := func(part [2]uint64) string { return string(snapshot.Read(part[0], part[1])) }
	return object{
		"data/snapshot.digest": snapshot.Digest(),
		"data/snapshot.size":   size,
		"data/snapshot.read":   each([][2]uint64{{0, size}, {1, 3}, {size, 1}}, read),
	}
}
