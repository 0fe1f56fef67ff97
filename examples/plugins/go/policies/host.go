package main

import (
	"path"
	"slices"
	"strings"

	"witlet.dev/plugin/v0_2/admission"
)

// What pods take of the host: paths, namespaces, ports, kinds of volumes.

// noHostPath: volumes bring no paths of the host but these and what is below them.
type noHostPath struct {
	onAdd `json:"-"`
	Allow []string `json:"allow"`
}

func (p noHostPath) Admit(request admission.Request) (admission.Verdict, error) {
	for _, volume := range request.Pod().Volumes() {
		found, ok := volume.HostPath()
		isBelow := func(folder string) bool {
			return strings.HasPrefix(found+"/", strings.TrimSuffix(path.Clean(folder), "/")+"/")
		}
		if ok && (strings.Contains(found, "..") || !slices.ContainsFunc(p.Allow, isBelow)) {
			return admission.Reject("HostPath", "%s brings %s of the host", volume, found), nil
		}
	}
	return admission.Admit(), nil
}

// hostPathsReadOnly: nothing is written through a path of the host.
type hostPathsReadOnly struct{}

func (hostPathsReadOnly) Admit(request admission.Request) (admission.Verdict, error) {
	for _, container := range request.Pod().Containers() {
		for _, mount := range container.Mounts() {
			isItsVolume := func(it admission.Volume) bool { return it.Name() == mount.Volume() && it.Kind() == "hostPath" }
			if !mount.ReadOnly() && slices.ContainsFunc(request.Pod().Volumes(), isItsVolume) {
				return admission.Reject("HostPathWritable", "%s can write to %s of the host", container, mount.Path()), nil
			}
		}
	}
	return admission.Admit(), nil
}

// noHostNamespaces: pods share no namespace with the host.
type noHostNamespaces struct{ onAdd }

func (noHostNamespaces) Admit(request admission.Request) (admission.Verdict, error) {
	pod := request.Pod()
	shared := map[string]bool{"hostNetwork": pod.HostNetwork(), "hostPID": pod.HostPID(), "hostIPC": pod.HostIPC()}
	for _, field := range []string{"hostNetwork", "hostPID", "hostIPC"} {
		if shared[field] {
			return admission.Reject("HostNamespace", "the pod has %s", field), nil
		}
	}
	return admission.Admit(), nil
}

// hostPortRange: pods take ports on the host from this range only.
type hostPortRange struct {
	onAdd `json:"-"`
	Min   uint16 `json:"min"`
	Max   uint16 `json:"max"`
}

func (p hostPortRange) Validate(admission.Setup) error {
	if p.Min > p.Max {
		return admission.Invalid("min", "is greater than max")
	}
	return nil
}

func (p hostPortRange) Admit(request admission.Request) (admission.Verdict, error) {
	for _, port := range request.Pod().HostPorts() {
		if number := port.Number(); number < p.Min || number > p.Max {
			return admission.Reject("HostPort", "port %d of the host isn't one of %d to %d", number, p.Min, p.Max), nil
		}
	}
	return admission.Admit(), nil
}

// volumeKinds: volumes are of these kinds, such as configMap or emptyDir.
type volumeKinds struct {
	onAdd `json:"-"`
	Allow []string `json:"allow"`
}

func (p volumeKinds) Admit(request admission.Request) (admission.Verdict, error) {
	for _, volume := range request.Pod().Volumes() {
		if kind := volume.Kind(); !slices.Contains(p.Allow, kind) {
			return admission.Reject("VolumeKind", "%s is of the kind %s", volume, kind), nil
		}
	}
	return admission.Admit(), nil
}
