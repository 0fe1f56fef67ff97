package main

import (
	"slices"

	"witlet.dev/plugin/v0_2/admission"
)

// What pods ask for and are limited to: numbers, cpu in milli-CPU and everything else in base units.

// limitsRequired: containers are limited in these resources; ephemeral containers have no resources.
type limitsRequired struct {
	onAddAndResize `json:"-"`
	Resources      []string `json:"resources"`
}

func (p limitsRequired) Admit(request admission.Request) (admission.Verdict, error) {
	for _, container := range request.Pod().Containers() {
		for _, resource := range p.Resources {
			if _, ok := container.Limit(resource); !ok && container.Kind() != "ephemeral" {
				return admission.Reject("NoLimit", "%s has no limit of %s", container, resource), nil
			}
		}
	}
	return admission.Admit(), nil
}

// limitRatio: a container's limit is at most so many times its request.
type limitRatio struct {
	onAddAndResize `json:"-"`
	Resource       string `json:"resource"`
	Most           int64  `json:"most"`
}

func (p limitRatio) Admit(request admission.Request) (admission.Verdict, error) {
	const message = "%s is limited to %d of %s and requests %d"
	for _, container := range request.Pod().Containers() {
		limit, isLimited := container.Limit(p.Resource)
		requested, isRequested := container.Request(p.Resource)
		if isLimited && isRequested && limit/max(p.Most, 1) >= requested && limit > requested*p.Most {
			return admission.Reject("LimitRatio", message, container, limit, p.Resource, requested), nil
		}
	}
	return admission.Admit(), nil
}

// podSize: a pod requests at most so much of each of these resources.
type podSize struct {
	onAddAndResize `json:"-"`
	Most           map[string]int64 `json:"most"`
}

func (p podSize) Admit(request admission.Request) (admission.Verdict, error) {
	pod := request.Pod()
	for _, resource := range pod.Resources() {
		requested, _ := pod.Request(resource)
		if most, ok := p.Most[resource]; ok && requested > most {
			return admission.Reject("PodTooLarge", "the pod requests %d of %s, more than %d", requested, resource, most), nil
		}
	}
	return admission.Admit(), nil
}

// guaranteedQos: pods of these priority classes are of the class Guaranteed.
type guaranteedQos struct {
	onAddAndResize  `json:"-"`
	PriorityClasses []string `json:"priorityClasses"`
}

func (p guaranteedQos) Admit(request admission.Request) (admission.Verdict, error) {
	class, qos := request.Pod().PriorityClass(), request.Pod().QOS()
	if slices.Contains(p.PriorityClasses, class) && qos != "Guaranteed" {
		return admission.Reject("NotGuaranteed", "a pod of the priority class %s is %s, not Guaranteed", class, qos), nil
	}
	return admission.Admit(), nil
}

// resizeAtMost: a running pod grows at most to so many times what it has.
type resizeAtMost struct {
	onResize `json:"-"`
	Most     int64 `json:"most"`
}

func (p resizeAtMost) Admit(request admission.Request) (admission.Verdict, error) {
	pod := request.Pod()
	old, isKnown := request.OldPod()
	for _, resource := range pod.Resources() {
		if now, before := amounts(pod, old, isKnown, resource); before > 0 && now/before >= p.Most && now > before*p.Most {
			return admission.Reject("ResizeTooLarge", "%d of %s are more than %d times %d", now, resource, p.Most, before), nil
		}
	}
	return admission.Admit(), nil
}

// amounts are what a pod requests of a resource, and did before; 0 if that isn't known.
func amounts(pod, old admission.Pod, isKnown bool, resource string) (now, before int64) {
	now, _ = pod.Request(resource)
	if isKnown {
		before, _ = old.Request(resource)
	}
	return now, before
}
