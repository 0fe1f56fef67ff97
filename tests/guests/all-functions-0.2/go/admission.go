package main

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"witlet.dev/plugin"
	"witlet.dev/plugin/v0_2/admission"
)

type handler struct {
	Do     string `json:"do"`
	Attack string `json:"attack"`
}

func (h handler) Subscribes() []string { return []string{"add", "resize", "update", "image-resolved"} }

func (h handler) Validate(setup admission.Setup) error {
	setup.Warn(text(object{"setup.knows": []bool{setup.Knows("add"), setup.Knows("fly")}}))
	if h.Do == "refuse" {
		return ownError()
	}
	return nil
}

// Admit logs a line of each level, and then gives the answer that the configuration names, or a part of what the request has.
func (h handler) Admit(request admission.Request) (admission.Verdict, error) {
	for name, level := range map[string]slog.Level{
		"trace": plugin.LevelTrace, "debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError,
	} {
		slog.Log(context.Background(), level, "logged at "+name, "language", "go")
	}
	switch h.Do {
	case "admit":
		return admission.Admit(), nil
	case "attack":
		return attack(h.Attack), nil
	case "defer":
		return admission.Defer("NotNow", 5*time.Second, "not now"), nil
	case "shortage":
		return admission.Lacking(
			admission.Shortage{Resource: "cpu", Requested: 500, Used: 800, Capacity: 1000},
			admission.Shortage{Resource: "memory", Requested: 5, Used: 8, Capacity: 10},
		), nil
	case "error":
		return admission.Verdict{}, ownError()
	case "remark":
		reported := text(object{"answer.warn": true, "answer.annotate": true})
		return admission.Reject("Reported", "%s", reported).Warn("it is old").Annotate("image", "first"), nil
	default:
		return admission.Reject("Reported", "%s", text(h.reported(request))), nil
	}
}

func (h handler) reported(request admission.Request) any {
	pod := request.Pod()
	switch h.Do {
	case "request":
		return tellRequest(request)
	case "pod":
		return tellPod(pod)
	case "containers":
		return each(pod.Containers(), tellContainer)
	case "security":
		return each(pod.Containers(), tellSecurity)
	case "images":
		return each(pod.Images(), tellImage)
	case "resolved-image":
		if image, ok := request.Image(); ok {
			return tellResolvedImage(image)
		}
	case "volumes":
		return each(pod.Volumes(), tellVolume)
	case "node":
		return tellNode(request.Node())
	case "host":
		return tellHost(h.Do != "")
	case "data":
		return tellData()
	case "own-error":
		return tellOwnError()
	}
	return "there is no such part"
}

func tellRequest(request admission.Request) object {
	now := request.Now()
	reported := object{
		"request.operation":  request.Operation(),
		"request.now":        object{"seconds": now.Unix(), "nanoseconds": now.Nanosecond()},
		"request.pod":        request.Pod().Name(),
		"request.old-pod":    nil,
		"request.image":      nil,
		"request.node":       request.Node().Name(),
		"request.other-pods": each(request.OtherPods(), admission.Pod.Name),
	}
	if old, ok := request.OldPod(); ok {
		reported["request.old-pod"] = old.Name()
	}
	if image, ok := request.Image(); ok {
		reported["request.image"] = image.ID()
	}
	return reported
}

func tellPod(pod admission.Pod) object {
	runtimeHandler, hasRuntimeHandler := pod.RuntimeHandler()
	return object{
		"pod.namespace":                 pod.Namespace(),
		"pod.name":                      pod.Name(),
		"pod.uid":                       pod.UID(),
		"pod.source":                    pod.Source(),
		"pod.label":                     both(pod.Label, "a", none),
		"pod.labels":                    pairs(pod.Labels()),
		"pod.annotation":                both(pod.Annotation, "note", none),
		"pod.annotations":               pairs(pod.Annotations()),
		"pod.owners":                    each(pod.Owners(), tellOwner),
		"pod.service-account":           pod.ServiceAccount(),
		"pod.has-service-account-token": pod.HasServiceAccountToken(),
		"pod.priority":                  pod.Priority(),
		"pod.priority-class":            pod.PriorityClass(),
		"pod.runtime-class":             pod.RuntimeClass(),
		"pod.runtime-handler":           maybe(runtimeHandler, hasRuntimeHandler),
		"pod.qos":                       pod.QOS(),
		"pod.host-network":              pod.HostNetwork(),
		"pod.host-pid":                  pod.HostPID(),
		"pod.host-ipc":                  pod.HostIPC(),
		"pod.host-users":                pod.HostUsers(),
		"pod.containers":                each(pod.Containers(), admission.Container.Name),
		"pod.images":                    each(pod.Images(), admission.Image.Place),
		"pod.volumes":                   each(pod.Volumes(), admission.Volume.Name),
		"pod.resources":                 texts(pod.Resources()),
		"pod.request":                   both(pod.Request, "cpu", none),
		"pod.limit":                     both(pod.Limit, "memory", none),
		"pod.host-ports":                each(pod.HostPorts(), tellHostPort),
		"pod.json":                      strings.Contains(pod.JSON(), `"containers"`),
		"pod.pointer":                   both(pod.Pointer, "/metadata/name", "/none"),
	}
}

func tellOwner(owner admission.Owner) object {
	return object{
		"owner.api-version": owner.APIVersion(), "owner.kind": owner.Kind(), "owner.name": owner.Name(), "owner.uid": owner.UID(),
		"owner.is-controller": owner.IsController(),
	}
}

func tellHostPort(port admission.HostPort) object {
	address, hasAddress := port.Address()
	return object{
		"host-port.address": maybe(address, hasAddress), "host-port.protocol": port.Protocol(), "host-port.number": port.Number(),
	}
}

func tellContainer(container admission.Container) object {
	return object{
		"container.name":        container.Name(),
		"container.kind":        container.Kind(),
		"container.place":       container.Place(),
		"container.image":       container.Image().Place(),
		"container.pull-policy": container.PullPolicy(),
		"container.resources":   texts(container.Resources()),
		"container.request":     both(container.Request, "cpu", none),
		"container.limit":       both(container.Limit, "memory", none),
		"container.env-names":   texts(container.EnvNames()),
		"container.ports":       each(container.Ports(), tellContainerPort),
		"container.mounts":      each(container.Mounts(), tellMount),
		"container.pointer":     both(container.Pointer, "/name", "/none"),
	}
}

func tellContainerPort(port admission.ContainerPort) object {
	hostPort, hasHostPort := port.HostPort()
	return object{
		"container-port.name": port.Name(), "container-port.number": port.Number(), "container-port.protocol": port.Protocol(),
		"container-port.host-port": maybe(hostPort, hasHostPort),
	}
}

func tellMount(mount admission.Mount) object {
	return object{
		"mount.volume": mount.Volume(), "mount.path": mount.Path(), "mount.sub-path": mount.SubPath(), "mount.read-only": mount.ReadOnly(),
		"mount.is-device": mount.IsDevice(),
	}
}

func tellSecurity(container admission.Container) object {
	user, hasUser := container.RunAsUser()
	group, hasGroup := container.RunAsGroup()
	seccomp, hasSeccomp := container.SeccompProfile()
	appArmor, hasAppArmor := container.AppArmorProfile()
	return object{
		"container.privileged":                 container.Privileged(),
		"container.run-as-non-root":            container.RunAsNonRoot(),
		"container.run-as-user":                maybe(user, hasUser),
		"container.run-as-group":               maybe(group, hasGroup),
		"container.allow-privilege-escalation": container.AllowPrivilegeEscalation(),
		"container.read-only-root-filesystem":  container.ReadOnlyRootFilesystem(),
		"container.seccomp-profile":            maybe(seccomp, hasSeccomp),
		"container.apparmor-profile":           maybe(appArmor, hasAppArmor),
		"container.added-capabilities":         texts(container.AddedCapabilities()),
		"container.dropped-capabilities":       texts(container.DroppedCapabilities()),
	}
}

func tellImage(image admission.Image) object {
	registry, inRegistry := image.Registry()
	repository, inRepository := image.Repository()
	tag, hasTag := image.Tag()
	digest, hasDigest := image.Digest()
	return object{
		"image.reference": image.Reference(), "image.place": image.Place(), "image.name": image.Name(),
		"image.registry": maybe(registry, inRegistry), "image.repository": maybe(repository, inRepository),
		"image.tag": maybe(tag, hasTag), "image.digest": maybe(digest, hasDigest),
	}
}

func tellResolvedImage(image admission.ResolvedImage) object {
	digest, hasDigest := image.Digest()
	size, hasSize := image.Size()
	credentials, areKnown := image.Credentials()
	return object{
		"resolved-image.container": image.Container().Place(), "resolved-image.id": image.ID(),
		"resolved-image.digest": maybe(digest, hasDigest), "resolved-image.size": maybe(size, hasSize),
		"resolved-image.credentials": maybe(credentials, areKnown),
	}
}

func tellVolume(volume admission.Volume) object {
	hostPath, hasHostPath := volume.HostPath()
	reported := object{
		"volume.name": volume.Name(), "volume.kind": volume.Kind(), "volume.host-path": maybe(hostPath, hasHostPath), "volume.image": nil,
		"volume.pointer": both(volume.Pointer, "/name", "/none"),
	}
	if image, ok := volume.Image(); ok {
		reported["volume.image"] = image.Place()
	}
	return reported
}

func tellNode(node admission.Node) object {
	kindOf := func(kind string) (string, bool) {
		condition, ok := node.Condition(kind)
		if !ok {
			return "", false
		}
		return condition.Kind(), true
	}
	return object{
		"node.name":            node.Name(),
		"node.label":           both(node.Label, "disk", none),
		"node.labels":          pairs(node.Labels()),
		"node.taints":          each(node.Taints(), tellTaint),
		"node.condition":       both(kindOf, "Ready", none),
		"node.conditions":      each(node.Conditions(), tellCondition),
		"node.resources":       texts(node.Resources()),
		"node.capacity":        both(node.Capacity, "cpu", none),
		"node.allocatable":     both(node.Allocatable, "cpu", none),
		"node.requested":       []int64{node.Requested("cpu"), node.Requested(none)},
		"node.available":       both(node.Available, "cpu", none),
		"node.used":            both(node.Used, "memory", none),
		"node.used-host-ports": each(node.UsedHostPorts(), tellHostPort),
		"node.fact":            both(node.Fact, "cgroup.version", none),
		"node.facts":           pairs(node.Facts()),
		"node.devices":         node.Devices(),
		"node.json":            strings.Contains(node.JSON(), `"labels"`),
		"node.pointer":         both(node.Pointer, "/metadata/name", "/none"),
	}
}

func tellTaint(taint admission.Taint) object {
	return object{"taint.key": taint.Key(), "taint.value": taint.Value(), "taint.effect": taint.Effect()}
}

func tellCondition(condition admission.Condition) object {
	return object{
		"condition.kind": condition.Kind(), "condition.status": condition.Status(), "condition.reason": condition.Reason(),
		"condition.message": condition.Message(),
	}
}
