package main

import (
	"slices"
	"time"

	"witlet.dev/plugin/v0_2/admission"
)

// How a pod fits to the node and to the pods that are on it.

// nodeZone: a pod that names a zone, by this label, runs in that zone.
type nodeZone struct {
	onAdd `json:"-"`
	Label string `json:"label"`
}

func (p nodeZone) Admit(request admission.Request) (admission.Verdict, error) {
	here, _ := request.Node().Label("topology.kubernetes.io/zone")
	if zone, ok := request.Pod().Label(p.Label); ok && zone != here {
		return admission.Reject("OtherZone", "the pod is for zone %s, the node is in %q", zone, here), nil
	}
	return admission.Admit(), nil
}

// spreadReplicas: at most so many pods of a controller are on the node; more wait.
type spreadReplicas struct {
	onAdd `json:"-"`
	Most  int `json:"most"`
}

func (p spreadReplicas) Admit(request admission.Request) (admission.Verdict, error) {
	owner, hasOwner := admission.Controller(request.Pod())
	isAnother := func(pod admission.Pod) bool {
		other, ok := admission.Controller(pod)
		return !ok || !hasOwner || other.UID() != owner.UID()
	}
	others := len(slices.DeleteFunc(request.OtherPods(), isAnother))
	if !hasOwner || others < p.Most {
		return admission.Admit(), nil
	}
	return admission.Defer("TooManyReplicas", time.Minute, "%d pods of the same controller are on the node", others), nil
}

// headroom: so many hundredths of a resource stay free.
type headroom struct {
	onAddAndResize `json:"-"`
	Resource       string `json:"resource"`
	Percent        int64  `json:"percent"`
}

func (p headroom) Admit(request admission.Request) (admission.Verdict, error) {
	used := request.Node().Requested(p.Resource)
	requested, _ := request.Pod().Request(p.Resource)
	allocatable, _ := request.Node().Allocatable(p.Resource)
	capacity := allocatable - allocatable/100*min(max(p.Percent, 0), 100)
	if requested > 0 && requested > capacity-used {
		return admission.Lacking(admission.Shortage{Resource: p.Resource, Requested: requested, Used: used, Capacity: capacity}), nil
	}
	return admission.Admit(), nil
}

// underPressure: pods that ask for nothing wait while the node is under this pressure, such as PIDPressure.
type underPressure struct {
	onAdd     `json:"-"`
	Condition string `json:"condition"`
}

func (p underPressure) Admit(request admission.Request) (admission.Verdict, error) {
	condition, ok := request.Node().Condition(p.Condition)
	if ok && condition.Status() == "True" && request.Pod().QOS() == "BestEffort" {
		return admission.Defer("UnderPressure", 30*time.Second, "the node has %s", p.Condition), nil
	}
	return admission.Admit(), nil
}
