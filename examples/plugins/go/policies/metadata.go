package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"witlet.dev/plugin/v0_2/admission"
)

// Who pods belong to, and what they say of themselves.

// requiredLabels: pods have these labels, with one of these values where any are given.
type requiredLabels struct {
	onAdd  `json:"-"`
	Labels map[string][]string `json:"labels"`
}

func (p requiredLabels) Admit(request admission.Request) (admission.Verdict, error) {
	for _, key := range slices.Sorted(maps.Keys(p.Labels)) {
		value, ok := request.Pod().Label(key)
		if !ok {
			return admission.Reject("RequiredLabel", "the pod has no label %s", key), nil
		}
		if values := p.Labels[key]; len(values) > 0 && !slices.Contains(values, value) {
			return admission.Reject("RequiredLabel", "the label %s is %s, not %s", key, value, strings.Join(values, " or ")), nil
		}
	}
	return admission.Admit(), nil
}

// requiredAnnotations: pods have these annotations.
type requiredAnnotations struct {
	onAdd       `json:"-"`
	Annotations []string `json:"annotations"`
}

func (p requiredAnnotations) Admit(request admission.Request) (admission.Verdict, error) {
	for _, key := range p.Annotations {
		if _, ok := request.Pod().Annotation(key); !ok {
			return admission.Reject("RequiredAnnotation", "the pod has no annotation %s", key), nil
		}
	}
	return admission.Admit(), nil
}

// ownerKinds: pods are made by controllers of these kinds, such as ReplicaSet.
type ownerKinds struct {
	onAdd `json:"-"`
	Allow []string `json:"allow"`
}

func (p ownerKinds) Admit(request admission.Request) (admission.Verdict, error) {
	owner, ok := admission.Controller(request.Pod())
	if !ok {
		return admission.Reject("NoOwner", "the pod has no controller"), nil
	}
	if kind := owner.Kind(); !slices.Contains(p.Allow, kind) {
		return admission.Reject("OwnerKind", "the pod is made by a %s", kind), nil
	}
	return admission.Admit().Annotate("controller", owner.Kind()), nil
}

// noServiceAccountToken: no pod gets a token of its service account by itself.
type noServiceAccountToken struct{ onAdd }

func (noServiceAccountToken) Admit(request admission.Request) (admission.Verdict, error) {
	if pod := request.Pod(); pod.HasServiceAccountToken() {
		account := pod.ServiceAccount()
		return admission.Reject("ServiceAccountToken", "a volume brings a token of the service account %s", account), nil
	}
	return admission.Admit(), nil
}

// serviceAccounts: no pod runs as one of these service accounts, such as default.
type serviceAccounts struct {
	onAdd `json:"-"`
	Deny  []string `json:"deny"`
}

func (p serviceAccounts) Admit(request admission.Request) (admission.Verdict, error) {
	if account := request.Pod().ServiceAccount(); slices.Contains(p.Deny, account) {
		return admission.Reject("ServiceAccount", "no pod runs as the service account %s", account), nil
	}
	return admission.Admit(), nil
}

// priorityClasses: these priority classes are for pods of these namespaces; other classes are anyone's.
type priorityClasses struct {
	onAdd   `json:"-"`
	Classes map[string][]string `json:"classes"`
}

func (p priorityClasses) Admit(request admission.Request) (admission.Verdict, error) {
	class, namespace := request.Pod().PriorityClass(), request.Pod().Namespace()
	if namespaces, ok := p.Classes[class]; ok && !slices.Contains(namespaces, namespace) {
		return admission.Reject("PriorityClass", "the priority class %s isn't for the namespace %s", class, namespace), nil
	}
	return admission.Admit(), nil
}

// envSecrets warns the pod's owner of variables that look like secrets, and have their values in the pod.
type envSecrets struct {
	Words []string `json:"words"`
}

func (p envSecrets) Admit(request admission.Request) (admission.Verdict, error) {
	verdict := admission.Admit()
	for _, container := range request.Pod().Containers() {
		for index, name := range container.EnvNames() {
			isSecret := slices.ContainsFunc(p.Words, func(word string) bool { return strings.Contains(name, word) })
			if _, hasValue := container.Pointer(fmt.Sprintf("/env/%d/value", index)); hasValue && isSecret {
				verdict = verdict.Warn("%s has the value of %s in its spec", container, name)
			}
		}
	}
	return verdict, nil
}
