package main

import (
	"slices"

	"witlet.dev/plugin/v0_2/admission"
)

// What containers may do: what counts of a container's security context and its pod's, for all kinds of containers.

// noPrivileged: no container is privileged.
type noPrivileged struct{}

func (noPrivileged) Admit(request admission.Request) (admission.Verdict, error) {
	for _, container := range request.Pod().Containers() {
		if container.Privileged() {
			return admission.Reject("Privileged", "%s is privileged", container), nil
		}
	}
	return admission.Admit(), nil
}

// capabilities: containers add no capabilities but these, and drop those.
type capabilities struct {
	Allow []string `json:"allow"`
	Drop  []string `json:"drop"`
}

func (p capabilities) Admit(request admission.Request) (admission.Verdict, error) {
	for _, container := range request.Pod().Containers() {
		if name, ok := lacking(container.AddedCapabilities(), p.Allow); ok {
			return admission.Reject("Capabilities", "%s adds the capability %s", container, name), nil
		}
		if name, ok := lacking(p.Drop, container.DroppedCapabilities()); ok {
			return admission.Reject("Capabilities", "%s doesn't drop the capability %s", container, name), nil
		}
	}
	return admission.Admit(), nil
}

// lacking is the first of some names that others lack.
func lacking(names, others []string) (string, bool) {
	for _, name := range names {
		if !slices.Contains(others, name) {
			return name, true
		}
	}
	return "", false
}

// runAsNonRoot: no container may start as root.
type runAsNonRoot struct{}

func (runAsNonRoot) Admit(request admission.Request) (admission.Verdict, error) {
	for _, container := range request.Pod().Containers() {
		if !container.RunAsNonRoot() {
			return admission.Reject("RunAsRoot", "%s may start as root", container), nil
		}
	}
	return admission.Admit(), nil
}

// noPrivilegeEscalation: no process gets more rights than its parent.
type noPrivilegeEscalation struct{}

func (noPrivilegeEscalation) Admit(request admission.Request) (admission.Verdict, error) {
	for _, container := range request.Pod().Containers() {
		if container.AllowPrivilegeEscalation() {
			return admission.Reject("PrivilegeEscalation", "%s allows privilege escalation", container), nil
		}
	}
	return admission.Admit(), nil
}

// readOnlyRoot: containers can't write to their own file systems.
type readOnlyRoot struct{}

func (readOnlyRoot) Admit(request admission.Request) (admission.Verdict, error) {
	for _, container := range request.Pod().Containers() {
		if !container.ReadOnlyRootFilesystem() {
			return admission.Reject("WritableRoot", "%s can write to its root file system", container), nil
		}
	}
	return admission.Admit(), nil
}

// seccompRequired: every container states a seccomp profile that filters.
type seccompRequired struct{}

func (seccompRequired) Admit(request admission.Request) (admission.Verdict, error) {
	for _, container := range request.Pod().Containers() {
		if profile, ok := container.SeccompProfile(); !ok || profile == "Unconfined" {
			return admission.Reject("NoSeccomp", "%s has no seccomp profile", container), nil
		}
	}
	return admission.Admit(), nil
}

// appArmorProfiles: containers state no AppArmor profile but these, such as RuntimeDefault or Localhost/web.
type appArmorProfiles struct {
	Allow []string `json:"allow"`
}

func (p appArmorProfiles) Admit(request admission.Request) (admission.Verdict, error) {
	for _, container := range request.Pod().Containers() {
		if profile, ok := container.AppArmorProfile(); ok && !slices.Contains(p.Allow, profile) {
			return admission.Reject("AppArmorProfile", "%s has the AppArmor profile %s", container, profile), nil
		}
	}
	return admission.Admit(), nil
}

// userIds: containers state a user from this number on.
type userIds struct {
	Min int64 `json:"min"`
}

func (p userIds) Admit(request admission.Request) (admission.Verdict, error) {
	for _, container := range request.Pod().Containers() {
		if user, ok := container.RunAsUser(); !ok || user < p.Min {
			return admission.Reject("UserId", "%s doesn't run as a user from %d on", container, p.Min), nil
		}
	}
	return admission.Admit(), nil
}

// userNamespaces: pods have a user namespace of their own.
type userNamespaces struct{ onAdd }

func (userNamespaces) Admit(request admission.Request) (admission.Verdict, error) {
	if request.Pod().HostUsers() {
		return admission.Reject("HostUsers", "the pod's users are the host's: hostUsers isn't false"), nil
	}
	return admission.Admit(), nil
}

// debugContainers: those who look for a fault in a pod of this label get no powers of the node.
type debugContainers struct {
	Label string `json:"label"`
	Value string `json:"value"`
}

func (p debugContainers) Admit(request admission.Request) (admission.Verdict, error) {
	value, isLabelled := request.Pod().Label(p.Label)
	for _, container := range request.Pod().Containers() {
		isMeant := isLabelled && value == p.Value && container.Kind() == "ephemeral"
		if isMeant && (container.Privileged() || len(container.AddedCapabilities()) > 0) {
			return admission.Reject("MightyDebugger", "%s has powers of the node", container), nil
		}
	}
	return admission.Admit(), nil
}
