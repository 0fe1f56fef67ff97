// Package admissiontest makes requests of manifests in the host's place, so that handlers of contract 0.2 can be asked by ordinary unit
// tests. They say what the host would: images taken apart, what counts of security contexts, amounts as numbers, what a pod counts for.
// Manifests are taken as they are: that a field is misspelt is for the finished component's test (witlet plugin test).
package admissiontest

import (
	"fmt"
	"slices"
	"time"

	"witlet.dev/plugin/v0_2/admission"
)

// A Request is a question in plain data. Its zero value is the addition of a pod without anything to a node without anything, in 1970.
type Request struct {
	Operation string
	Now       time.Time
	// Pod, OldPod, Node and OtherPods are manifests, JSON texts.
	Pod, OldPod, Node string
	OtherPods         []string
	// Facts are about the machine and the runtime.
	Facts map[string]string
	// Devices is a JSON array.
	Devices string
	// Used is what is in use of the node's resources.
	Used map[string]int64
	// RuntimeHandlers are handlers of the container runtime by the names of runtime classes.
	RuntimeHandlers map[string]string
	Image           admission.ResolvedImage
}

// Request is the question as a handler takes it.
func (r Request) Request() admission.Request { return request{r} }

type request struct{ of Request }

func (r request) Pod() admission.Pod   { return r.podOf(r.of.Pod) }
func (r request) Node() admission.Node { return node{parse(r.of.Node), r.of} }

func (r request) Operation() string {
	if r.of.Operation == "" {
		return "add"
	}
	return r.of.Operation
}

func (r request) Now() time.Time {
	if r.of.Now.IsZero() {
		return time.Unix(0, 0).UTC()
	}
	return r.of.Now
}

func (r request) OldPod() (admission.Pod, bool) { return r.podOf(r.of.OldPod), r.of.OldPod != "" }

func (r request) Image() (admission.ResolvedImage, bool) { return r.of.Image, r.of.Image != nil }

func (r request) OtherPods() (all []admission.Pod) {
	for _, manifest := range r.of.OtherPods {
		all = append(all, r.podOf(manifest))
	}
	return all
}

func (r request) podOf(manifest string) admission.Pod {
	return pod{parse(manifest), "file", r.of.RuntimeHandlers}
}

// A Setup is what a handler says when it is loaded.
type Setup struct{ Subscribed, Warnings []string }

// operations are those that the host knows.
var operations = []string{"add", "resize", "update", "ephemeral", "image-resolved", "readmit", "recheck"}

// Subscribe keeps it.
func (s *Setup) Subscribe(operation string) {
	if !slices.Contains(s.Subscribed, operation) {
		s.Subscribed = append(s.Subscribed, operation)
	}
}

// Knows says what the host knows.
func (s *Setup) Knows(operation string) bool { return slices.Contains(operations, operation) }

// Warn keeps it.
func (s *Setup) Warn(message string) { s.Warnings = append(s.Warnings, message) }

// Load makes a handler of its configuration, a JSON text, as the host has it done; an error is one of which the host would refuse it.
func Load(maker admission.Maker, config string) (admission.Handler, *Setup, error) {
	handler, err := maker(config)
	if err != nil {
		return nil, nil, err
	}
	setup := &Setup{}
	if err := admission.Load(handler, setup); err != nil {
		return nil, nil, err
	}
	if len(setup.Subscribed) == 0 {
		return nil, nil, admission.Invalid("subscribes", "it subscribes to nothing")
	}
	for _, operation := range setup.Subscribed {
		if !setup.Knows(operation) {
			return nil, nil, admission.Invalid("subscribes", fmt.Sprintf("the host doesn't know %s", operation))
		}
	}
	return handler, setup, nil
}
