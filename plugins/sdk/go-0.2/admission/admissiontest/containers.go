package admissiontest

import (
	"fmt"
	"strings"

	"witlet.dev/plugin/v0_2/admission"
)

const appArmorAnnotation = "container.apparmor.security.beta.kubernetes.io/"

// container is one by where it stands in its pod.
type container struct {
	pod   any
	list  string
	index int
}

func (c container) get(path ...any) any {
	return get(c.pod, append([]any{"spec", c.list, c.index}, path...)...)
}

func (c container) own(field string) any { return c.get("securityContext", field) }

// security is a field of its security context, or else of its pod's.
func (c container) security(field string) any {
	if own := c.own(field); own != nil {
		return own
	}
	return get(c.pod, "spec", "securityContext", field)
}

func (c container) amounts(part string) map[string]int64 { return amounts(c.get("resources", part)) }

func (c container) String() string                 { return admission.ContainerText(c) }
func (c container) Name() string                   { return text(c.get("name")) }
func (c container) Place() string                  { return fmt.Sprintf("spec.%s[%d]", c.list, c.index) }
func (c container) Image() admission.Image         { return newImage(text(c.get("image")), c.Place()+".image") }
func (c container) PullPolicy() string             { return text(c.get("imagePullPolicy")) }
func (c container) Resources() []string            { return names(c.amounts("requests"), c.amounts("limits")) }
func (c container) Privileged() bool               { return flag(c.own("privileged")) }
func (c container) RunAsNonRoot() bool             { return flag(c.security("runAsNonRoot")) }
func (c container) RunAsUser() (int64, bool)       { return number(c.security("runAsUser")) }
func (c container) RunAsGroup() (int64, bool)      { return number(c.security("runAsGroup")) }
func (c container) AllowPrivilegeEscalation() bool { return c.own("allowPrivilegeEscalation") != false }
func (c container) ReadOnlyRootFilesystem() bool   { return flag(c.own("readOnlyRootFilesystem")) }
func (c container) AddedCapabilities() []string {
	return texts(c.get("securityContext", "capabilities", "add"))
}
func (c container) DroppedCapabilities() []string {
	return texts(c.get("securityContext", "capabilities", "drop"))
}
func (c container) Pointer(path string) (string, bool) { return at(c.get(), path) }

func (c container) Kind() string {
	switch {
	case c.list == "initContainers" && isSidecar(c.get()):
		return "sidecar"
	case c.list == "initContainers":
		return "init"
	case c.list == "containers":
		return "app"
	default:
		return "ephemeral"
	}
}

func (c container) Request(resource string) (int64, bool) {
	amount, ok := c.amounts("requests")[resource]
	return amount, ok
}

func (c container) Limit(resource string) (int64, bool) {
	amount, ok := c.amounts("limits")[resource]
	return amount, ok
}

func (c container) SeccompProfile() (string, bool) {
	profile := c.security("seccompProfile")
	kind, ok := get(profile, "type").(string)
	if path, has := get(profile, "localhostProfile").(string); has && kind == "Localhost" {
		return kind + "/" + path, true
	}
	return kind, ok
}

func (c container) AppArmorProfile() (string, bool) {
	if own := c.own("appArmorProfile"); own != nil {
		return appArmor(own)
	}
	annotation := text(get(c.pod, "metadata", "annotations", appArmorAnnotation+c.Name()))
	switch name, isLocal := strings.CutPrefix(annotation, "localhost/"); {
	case annotation == "runtime/default":
		return "RuntimeDefault", true
	case annotation == "unconfined":
		return "Unconfined", true
	case isLocal && name != "":
		return "Localhost/" + name, true
	default:
		return appArmor(get(c.pod, "spec", "securityContext", "appArmorProfile"))
	}
}

// appArmor is a profile; a field that can't be meant is none.
func appArmor(profile any) (string, bool) {
	kind, name := text(get(profile, "type")), text(get(profile, "localhostProfile"))
	switch {
	case kind == "RuntimeDefault" || kind == "Unconfined":
		return kind, true
	case kind == "Localhost" && name != "":
		return "Localhost/" + name, true
	default:
		return "", false
	}
}

func (c container) EnvNames() []string {
	return wrap(items(c.get("env")), func(variable any) string { return text(get(variable, "name")) })
}

func (c container) Ports() []admission.ContainerPort {
	return wrap(items(c.get("ports")), func(spec any) admission.ContainerPort { return containerPort{spec} })
}

func (c container) Mounts() []admission.Mount {
	mounts := wrap(items(c.get("volumeMounts")), func(spec any) admission.Mount { return mount{spec, false} })
	devices := wrap(items(c.get("volumeDevices")), func(spec any) admission.Mount { return mount{spec, true} })
	return append(mounts, devices...)
}

func port(value any) (uint16, bool) {
	number, _ := number(value)
	return uint16(number), 1 <= number && number <= 65535
}

func protocol(value any) string {
	if value == "UDP" || value == "SCTP" {
		return text(value)
	}
	return "TCP"
}

type containerPort struct{ spec any }

func (p containerPort) Name() string             { return text(get(p.spec, "name")) }
func (p containerPort) Protocol() string         { return protocol(get(p.spec, "protocol")) }
func (p containerPort) HostPort() (uint16, bool) { return port(get(p.spec, "hostPort")) }

func (p containerPort) Number() uint16 {
	if number, ok := port(get(p.spec, "containerPort")); ok {
		return number
	}
	return 0
}

type mount struct {
	spec     any
	isDevice bool
}

func (m mount) Volume() string { return text(get(m.spec, "name")) }
func (m mount) ReadOnly() bool { return flag(get(m.spec, "readOnly")) }
func (m mount) IsDevice() bool { return m.isDevice }

func (m mount) Path() string {
	if m.isDevice {
		return text(get(m.spec, "devicePath"))
	}
	return text(get(m.spec, "mountPath"))
}

func (m mount) SubPath() string {
	if path := text(get(m.spec, "subPath")); path != "" {
		return path
	}
	return text(get(m.spec, "subPathExpr"))
}
