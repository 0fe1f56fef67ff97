package admissiontest

import (
	"fmt"
	"net/netip"
	"slices"

	"witlet.dev/plugin/v0_2/admission"
)

type pod struct {
	manifest any
	source   string
	// handlers are those of runtime classes.
	handlers map[string]string
}

// PodOf is the pod of a manifest, a JSON text, from the source file. It panics if the text is none.
func PodOf(manifest string) admission.Pod { return pod{parse(manifest), "file", nil} }

func (p pod) metadata(field string) any            { return get(p.manifest, "metadata", field) }
func (p pod) spec(field string) any                { return get(p.manifest, "spec", field) }
func (p pod) amounts(part string) map[string]int64 { return ofPod(get(p.manifest, "spec"), part) }

func (p pod) Namespace() string                  { return text(p.metadata("namespace")) }
func (p pod) Name() string                       { return text(p.metadata("name")) }
func (p pod) UID() string                        { return text(p.metadata("uid")) }
func (p pod) Source() string                     { return p.source }
func (p pod) Labels() map[string]string          { return pairs(p.metadata("labels")) }
func (p pod) Annotations() map[string]string     { return pairs(p.metadata("annotations")) }
func (p pod) PriorityClass() string              { return text(p.spec("priorityClassName")) }
func (p pod) RuntimeClass() string               { return text(p.spec("runtimeClassName")) }
func (p pod) QOS() string                        { return qos(p.manifest) }
func (p pod) HostNetwork() bool                  { return flag(p.spec("hostNetwork")) }
func (p pod) HostPID() bool                      { return flag(p.spec("hostPID")) }
func (p pod) HostIPC() bool                      { return flag(p.spec("hostIPC")) }
func (p pod) HostUsers() bool                    { return p.spec("hostUsers") != false }
func (p pod) Resources() []string                { return names(p.amounts("requests"), p.amounts("limits")) }
func (p pod) JSON() string                       { return written(p.manifest) }
func (p pod) Pointer(path string) (string, bool) { return at(p.manifest, path) }

func (p pod) RuntimeHandler() (string, bool) {
	class := p.RuntimeClass()
	if class == "" {
		return "", true
	}
	handler, ok := p.handlers[class]
	return handler, ok
}

func (p pod) Label(key string) (string, bool) {
	value, ok := p.Labels()[key]
	return value, ok
}

func (p pod) Annotation(key string) (string, bool) {
	value, ok := p.Annotations()[key]
	return value, ok
}

func (p pod) Owners() []admission.Owner {
	return wrap(items(p.metadata("ownerReferences")), func(spec any) admission.Owner { return owner{spec} })
}

func (p pod) ServiceAccount() string {
	if name := text(p.spec("serviceAccountName")); name != "" {
		return name
	}
	return "default"
}

func (p pod) HasServiceAccountToken() bool {
	return slices.ContainsFunc(items(p.spec("volumes")), func(volume any) bool {
		return slices.ContainsFunc(items(get(volume, "projected", "sources")), func(source any) bool {
			return get(source, "serviceAccountToken") != nil
		})
	})
}

func (p pod) Priority() int32 {
	priority, _ := number(p.spec("priority"))
	return int32(priority)
}

func (p pod) Containers() (all []admission.Container) {
	for _, list := range []string{"initContainers", "containers", "ephemeralContainers"} {
		for index := range items(p.spec(list)) {
			all = append(all, container{p.manifest, list, index})
		}
	}
	return all
}

func (p pod) Images() (all []admission.Image) {
	for _, container := range p.Containers() {
		all = append(all, container.Image())
	}
	for _, volume := range p.Volumes() {
		if image, ok := volume.Image(); ok {
			all = append(all, image)
		}
	}
	return all
}

func (p pod) Volumes() (all []admission.Volume) {
	for index, spec := range items(p.spec("volumes")) {
		all = append(all, volume{spec, index})
	}
	return all
}

func (p pod) Request(resource string) (int64, bool) {
	amount, ok := p.amounts("requests")[resource]
	return amount, ok
}

func (p pod) Limit(resource string) (int64, bool) {
	amount, ok := p.amounts("limits")[resource]
	return amount, ok
}

func (p pod) HostPorts() (all []admission.HostPort) {
	containers := slices.Clone(items(p.spec("containers")))
	for _, container := range items(p.spec("initContainers")) {
		if isSidecar(container) {
			containers = append(containers, container)
		}
	}
	for _, container := range containers {
		for _, spec := range items(get(container, "ports")) {
			taken, ok := number(get(spec, "hostPort"))
			if taken == 0 && p.HostNetwork() {
				taken, ok = number(get(spec, "containerPort"))
			}
			if ok && 1 <= taken && taken <= 65535 {
				all = append(all, hostPort{spec, uint16(taken)})
			}
		}
	}
	return all
}

type owner struct{ spec any }

func (o owner) APIVersion() string { return text(get(o.spec, "apiVersion")) }
func (o owner) Kind() string       { return text(get(o.spec, "kind")) }
func (o owner) Name() string       { return text(get(o.spec, "name")) }
func (o owner) UID() string        { return text(get(o.spec, "uid")) }
func (o owner) IsController() bool { return flag(get(o.spec, "controller")) }

type volume struct {
	spec  any
	index int
}

func (v volume) String() string                     { return admission.VolumeText(v) }
func (v volume) Name() string                       { return text(get(v.spec, "name")) }
func (v volume) Pointer(path string) (string, bool) { return at(v.spec, path) }

func (v volume) Kind() string {
	fields, _ := v.spec.(map[string]any)
	kinds := make([]string, 0, len(fields))
	for name, value := range fields {
		if name != "name" && value != nil {
			kinds = append(kinds, name)
		}
	}
	slices.Sort(kinds)
	return append(kinds, "")[0]
}

func (v volume) HostPath() (string, bool) {
	path, ok := get(v.spec, "hostPath", "path").(string)
	return path, ok
}

func (v volume) Image() (admission.Image, bool) {
	of, ok := get(v.spec, "image").(map[string]any)
	return newImage(text(of["reference"]), fmt.Sprintf("spec.volumes[%d].image.reference", v.index)), ok
}

type hostPort struct {
	spec   any
	number uint16
}

func (p hostPort) Protocol() string { return protocol(get(p.spec, "protocol")) }
func (p hostPort) Number() uint16   { return p.number }

func (p hostPort) Address() (string, bool) {
	address, err := netip.ParseAddr(text(get(p.spec, "hostIP")))
	return address.String(), err == nil && !address.IsUnspecified()
}
