// Package admissiontest makes requests of plain data, so that handlers can be asked by ordinary unit tests. What the host would derive from
// a pod (effective requests, host ports, QoS) is stated as the test wants it.
package admissiontest

import (
	"encoding/json"
	"fmt"
	"time"

	"witlet.dev/plugin/admission"
	"witlet.dev/plugin/internal/pointer"
)

// A Request is a question in plain data. Its zero value is the addition of a pod without anything to a node without anything, in 1970.
type Request struct {
	Operation admission.Operation
	Now       time.Time
	Pod       Pod
	Node      Node
	OtherPods []Pod
}

// A Pod is one in plain data.
type Pod struct {
	Identity    admission.PodRef
	Source      string
	Labels      map[string]string
	Annotations map[string]string
	Priority    int32
	Containers  []admission.Container
	Requests    []admission.Quantity
	HostPorts   []admission.HostPort
	QOS         admission.QOSClass
	// Manifest is what JSON and Pointer read.
	Manifest string
}

// A Node is one in plain data.
type Node struct {
	Name          string
	Labels        map[string]string
	Taints        []admission.Taint
	Capacity      []admission.Quantity
	Allocatable   []admission.Quantity
	Requested     []admission.Quantity
	UsedHostPorts []admission.HostPort
	Conditions    []admission.Condition
	Facts         map[string]string
	// Devices is a JSON array; empty stands for one without devices.
	Devices string
	// Manifest is what JSON and Pointer read.
	Manifest string
}

// at is what a manifest has at a pointer, the zero value if nothing. It panics if that is of another type.
func at[T any](text, path string) (value T) {
	if found, ok := pointer.Lookup(text, path); ok {
		if err := json.Unmarshal([]byte(found), &value); err != nil {
			panic(fmt.Sprintf("admissiontest.PodOf: %s: %v", path, err))
		}
	}
	return value
}

// PodOf is the pod of a manifest, a JSON text: identity, labels, annotations, priority and containers are read from it as the host does.
// Requests, host ports and QoS class, which the host derives by the scheduler's rules, are left out. It panics if the text is none.
func PodOf(text string) Pod {
	if !json.Valid([]byte(text)) {
		panic("admissiontest.PodOf: it is no JSON text")
	}
	// By pointers: encoding/json would take other letters' cases for the same key.
	identity := admission.PodRef{
		Namespace: at[string](text, "/metadata/namespace"),
		Name:      at[string](text, "/metadata/name"),
		UID:       at[string](text, "/metadata/uid"),
	}
	if identity.Namespace == "" {
		identity.Namespace = "default"
	}
	pod := Pod{
		Identity:    identity,
		Source:      "file",
		Labels:      at[map[string]string](text, "/metadata/labels"),
		Annotations: at[map[string]string](text, "/metadata/annotations"),
		Priority:    at[int32](text, "/spec/priority"),
		QOS:         admission.BestEffort,
		Manifest:    text,
	}
	add := func(path string, kind admission.ContainerKind) {
		for _, container := range at[[]json.RawMessage](text, path) {
			text, kind := string(container), kind
			if kind == admission.InitContainer && at[string](text, "/restartPolicy") == "Always" {
				kind = admission.Sidecar
			}
			name, image := at[string](text, "/name"), at[string](text, "/image")
			pod.Containers = append(pod.Containers, admission.Container{Name: name, Kind: kind, Image: image})
		}
	}
	add("/spec/initContainers", admission.InitContainer)
	add("/spec/containers", admission.AppContainer)
	add("/spec/ephemeralContainers", admission.EphemeralContainer)
	return pod
}

// Request is the question as a handler takes it.
func (r Request) Request() admission.Request { return request{r} }

type request struct{ facts Request }

func (r request) Operation() admission.Operation { return r.facts.Operation }
func (r request) Pod() admission.Pod             { return pod{r.facts.Pod} }
func (r request) Node() admission.Node           { return node{r.facts.Node} }

func (r request) Now() time.Time {
	if r.facts.Now.IsZero() {
		return time.Unix(0, 0).UTC()
	}
	return r.facts.Now
}

func (r request) OtherPods() []admission.Pod {
	pods := make([]admission.Pod, len(r.facts.OtherPods))
	for i, facts := range r.facts.OtherPods {
		pods[i] = pod{facts}
	}
	return pods
}

type pod struct{ facts Pod }

func (p pod) Identity() admission.PodRef        { return p.facts.Identity }
func (p pod) Source() string                    { return p.facts.Source }
func (p pod) Labels() map[string]string         { return p.facts.Labels }
func (p pod) Annotations() map[string]string    { return p.facts.Annotations }
func (p pod) Priority() int32                   { return p.facts.Priority }
func (p pod) Containers() []admission.Container { return p.facts.Containers }
func (p pod) Requests() []admission.Quantity    { return p.facts.Requests }
func (p pod) HostPorts() []admission.HostPort   { return p.facts.HostPorts }
func (p pod) QOS() admission.QOSClass           { return p.facts.QOS }
func (p pod) JSON() string                      { return p.facts.Manifest }

func (p pod) Pointer(path string) (string, bool) { return pointer.Lookup(p.facts.Manifest, path) }

type node struct{ facts Node }

func (n node) Name() string                        { return n.facts.Name }
func (n node) Labels() map[string]string           { return n.facts.Labels }
func (n node) Taints() []admission.Taint           { return n.facts.Taints }
func (n node) Capacity() []admission.Quantity      { return n.facts.Capacity }
func (n node) Allocatable() []admission.Quantity   { return n.facts.Allocatable }
func (n node) Requested() []admission.Quantity     { return n.facts.Requested }
func (n node) UsedHostPorts() []admission.HostPort { return n.facts.UsedHostPorts }
func (n node) Conditions() []admission.Condition   { return n.facts.Conditions }
func (n node) Facts() map[string]string            { return n.facts.Facts }
func (n node) JSON() string                        { return n.facts.Manifest }

func (n node) Devices() string {
	if n.facts.Devices == "" {
		return "[]"
	}
	return n.facts.Devices
}

func (n node) Pointer(path string) (string, bool) { return pointer.Lookup(n.facts.Manifest, path) }
