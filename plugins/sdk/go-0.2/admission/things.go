package admission

import (
	"fmt"
	"time"
)

// Setup: what validate says to the host.
type Setup interface {
	// Subscribe: has the handler asked when this happens: add, resize, update, ephemeral, image-resolved, readmit or recheck, as in
	// request.operation. A handler that subscribes to nothing is refused, and so is one that subscribes to what the host doesn't
	// know.
	Subscribe(operation string)
	// Knows: whether the host knows this operation.
	Knows(operation string) bool
	// Warn: a sentence for the operator, who finds it in the log and in an event. The plugin is loaded all the same. The host
	// keeps 16, each cut at 4 KiB.
	Warn(message string)
}

// Image: an image that a pod names, and where.
type Image interface {
	// For messages, with its name in quotes.
	fmt.Stringer
	// Reference: as written; empty if nothing is.
	Reference() string
	// Place: where in the pod: spec.containers[0].image, spec.volumes[2].image.reference.
	Place() string
	// Name: in full: docker.io/library/nginx:latest. As written if it is in no registry (file:/opt/app.wasm) or no reference.
	Name() string
	// Registry: the registry with its port, such as docker.io; none if it is in no registry.
	Registry() (string, bool)
	// Repository: the path in the registry, such as library/nginx.
	Repository() (string, bool)
	// Tag: the tag; latest if it names neither tag nor digest.
	Tag() (string, bool)
	// Digest: the digest, such as sha256:…, if it names one.
	Digest() (string, bool)
}

// ResolvedImage: the image that a container is to be started from, as the node has it.
type ResolvedImage interface {
	// Container: the container. Its image is named as the pod has it.
	Container() Container
	// ID: what the runtime makes the container from, mostly the digest of the image's configuration.
	ID() string
	// Digest: the digest that the image has in the repository that the pod names, such as sha256:…; none if the node knows of
	// none, as of one that was built or loaded on it.
	Digest() (string, bool)
	// Size: its bytes on the node; none if the runtime doesn't say.
	Size() (uint64, bool)
	// Credentials: whose credentials opened the registry for it: secret for those of a pull secret, node for the node's own or
	// none at all. None if that isn't known: the agent didn't pull it.
	Credentials() (string, bool)
}

// ContainerPort: a port that a container listens on, as its spec says.
type ContainerPort interface {
	// Name: empty if it has none.
	Name() string
	// Number: in the container.
	Number() uint16
	// Protocol: TCP, UDP or SCTP.
	Protocol() string
	// HostPort: the port on the host that it asks for. What a pod takes of the host altogether is pod.host-ports.
	HostPort() (uint16, bool)
}

// HostPort: a port that a pod takes on the host.
type HostPort interface {
	// Address: none for every address of the host.
	Address() (string, bool)
	// Protocol: TCP, UDP or SCTP.
	Protocol() string
	Number() uint16
}

// Mount: where a container has a volume.
type Mount interface {
	// Volume: the volume's name.
	Volume() string
	// Path: in the container: a folder, a file, or a device.
	Path() string
	// SubPath: the part of the volume that it is (subPath or subPathExpr); empty for all of it.
	SubPath() string
	ReadOnly() bool
	// IsDevice: whether it is the volume's block device (volumeDevices).
	IsDevice() bool
}

// Container: a container of a pod. What its security context says goes before what the pod's says.
type Container interface {
	// For messages, with its name in quotes.
	fmt.Stringer
	Name() string
	// Kind: init, sidecar (an init container with restartPolicy: Always), app or ephemeral.
	Kind() string
	// Place: where in the pod: spec.initContainers[0].
	Place() string
	Image() Image
	// PullPolicy: Always, IfNotPresent or Never; empty if the spec leaves it to Kubernetes.
	PullPolicy() string
	// Resources: the names of resources that it requests or limits, sorted.
	Resources() []string
	// Request: what it requests of this resource.
	Request(resource string) (int64, bool)
	// Limit: what it is limited to of this resource.
	Limit(resource string) (int64, bool)
	Privileged() bool
	// RunAsNonRoot: whether it may not start as root.
	RunAsNonRoot() bool
	// RunAsUser: the user; none for the image's.
	RunAsUser() (int64, bool)
	// RunAsGroup: the group; none for the image's.
	RunAsGroup() (int64, bool)
	// AllowPrivilegeEscalation: whether a process in it can have more rights than its parent: so unless the spec forbids it.
	AllowPrivilegeEscalation() bool
	ReadOnlyRootFilesystem() bool
	// SeccompProfile: RuntimeDefault, Unconfined or Localhost/<path>; none if nothing is said, and the node has a default.
	SeccompProfile() (string, bool)
	// AppArmorProfile: the same of AppArmor; an annotation of old counts, too.
	AppArmorProfile() (string, bool)
	// AddedCapabilities: capabilities as written, such as NET_ADMIN or ALL.
	AddedCapabilities() []string
	DroppedCapabilities() []string
	// EnvNames: the names in env, in the spec's order. What envFrom brings is known when the container starts.
	EnvNames() []string
	Ports() []ContainerPort
	// Mounts: volumeMounts, then volumeDevices.
	Mounts() []Mount
	// Pointer: the value at a JSON pointer (RFC 6901) from the container on, such as /command/0, as JSON text; the whole container
	// at the empty one; none where it has nothing.
	Pointer(path string) (string, bool)
}

// Volume: a volume of a pod.
type Volume interface {
	// For messages, with its name in quotes.
	fmt.Stringer
	Name() string
	// Kind: the field of its source: emptyDir, hostPath, image, …; empty if it has none.
	Kind() string
	// HostPath: the path on the host, of a hostPath.
	HostPath() (string, bool)
	// Image: of an image.
	Image() (Image, bool)
	// Pointer: the value at a JSON pointer from the volume on, as JSON text.
	Pointer(path string) (string, bool)
}

// Owner: who made a pod (metadata.ownerReferences).
type Owner interface {
	APIVersion() string
	Kind() string
	Name() string
	UID() string
	// IsController: whether it is the one that manages the pod.
	IsController() bool
}

// Pod: a pod, read lazily: only what is asked for crosses into the plugin.
type Pod interface {
	Namespace() string
	Name() string
	UID() string
	// Source: the source that brought it: file, http, api, or a plugin's name.
	Source() string
	Label(key string) (string, bool)
	// Labels: sorted by key.
	Labels() map[string]string
	Annotation(key string) (string, bool)
	// Annotations: sorted by key.
	Annotations() map[string]string
	Owners() []Owner
	// ServiceAccount: spec.serviceAccountName, or default.
	ServiceAccount() string
	// HasServiceAccountToken: whether a volume brings a token of its service account.
	HasServiceAccountToken() bool
	// Priority: spec.priority, or 0.
	Priority() int32
	// PriorityClass: spec.priorityClassName; empty if it has none.
	PriorityClass() string
	// RuntimeClass: spec.runtimeClassName; empty if it has none.
	RuntimeClass() string
	// RuntimeHandler: the handler of the container runtime that its runtime class means on this node; empty for the runtime's default
	// one. None of a class that the node knows nothing of (yet).
	RuntimeHandler() (string, bool)
	// QOS: quality of service class: Guaranteed, Burstable or BestEffort.
	QOS() string
	HostNetwork() bool
	HostPID() bool
	HostIPC() bool
	// HostUsers: whether its users are the host's: so unless the spec asks for a user namespace.
	HostUsers() bool
	// Containers: all containers: init containers and sidecars, app containers, ephemeral containers, each in the spec's order.
	Containers() []Container
	// Images: all images: of the containers in their order, then of volumes.
	Images() []Image
	Volumes() []Volume
	// Resources: the names of resources that it counts for or is limited in, sorted; pods isn't among them.
	Resources() []string
	// Request: what it counts for on the node, by the rules of the scheduler: the greater of app containers together and each init
	// container, sidecars added, or what the pod as a whole states, plus overhead.
	Request(resource string) (int64, bool)
	// Limit: what it is limited to, by the same rule.
	Limit(resource string) (int64, bool)
	// HostPorts: ports that it takes on the host, in the spec's order.
	HostPorts() []HostPort
	// JSON: the whole pod as JSON. Decoding it costs more than the call: prefer the getters and pointer.
	JSON() string
	// Pointer: the value at a JSON pointer (RFC 6901), such as /spec/nodeName, as JSON text; none where the pod has nothing.
	Pointer(path string) (string, bool)
}

// Taint: a taint of the node.
type Taint interface {
	Key() string
	// Value: empty if it has none.
	Value() string
	// Effect: NoSchedule, PreferNoSchedule or NoExecute.
	Effect() string
}

// Condition: a condition of the node.
type Condition interface {
	Kind() string
	// Status: True, False or Unknown.
	Status() string
	Reason() string
	Message() string
}

// Node: the node.
type Node interface {
	Name() string
	Label(key string) (string, bool)
	// Labels: sorted by key.
	Labels() map[string]string
	Taints() []Taint
	// Condition: the condition of this kind, such as MemoryPressure.
	Condition(kind string) (Condition, bool)
	Conditions() []Condition
	// Resources: the names of resources that it has or that are requested of it, sorted; pods is among them.
	Resources() []string
	Capacity(resource string) (int64, bool)
	// Allocatable: what pods may have of it.
	Allocatable(resource string) (int64, bool)
	// Requested: what the other admitted pods count for together, 0 if nothing; of pods their number.
	Requested(resource string) int64
	// Available: what is left: allocatable less requested, negative if too much is given away; none where nothing is allocatable.
	Available(resource string) (int64, bool)
	// Used: what all processes of the machine use of it, as it was measured last, within the last minute: of cpu the mean since the check
	// before, of memory the working set, of ephemeral-storage what is written on the file system of the agent's folder, of pid how
	// many there are. None of other resources, and where it isn't known.
	Used(resource string) (int64, bool)
	// UsedHostPorts: ports that the other admitted pods take on the host.
	UsedHostPorts() []HostPort
	// Fact: a fact about the machine or the runtime, such as cgroup.version; none while it is unknown.
	Fact(key string) (string, bool)
	// Facts: sorted by key. Keys may be added at any time.
	Facts() map[string]string
	// Devices: devices that pods can ask for, as a JSON array of {"resource": …, "id": …, "healthy": …, "numaNodes": […], "pod":
	// …}; pod is the UID of the pod that has it, and missing while none has.
	Devices() string
	// JSON: the whole node as JSON.
	JSON() string
	// Pointer: the value at a JSON pointer (RFC 6901), as JSON text; none where the node has nothing.
	Pointer(path string) (string, bool)
}

// Request: one question.
type Request interface {
	// Operation: add: the pod is new to this node. resize: a running pod asks for other resources. update: an image of a running
	// pod was changed. ephemeral: a running pod was given ephemeral containers. image-resolved: a container of an admitted pod is
	// to start, and its image is on the node. readmit: a pod ran before the agent was started again; it is asked about once. recheck: a
	// pod runs, and is asked about again as often as the plugin's entry says. Of readmit and recheck only a rejection changes anything.
	Operation() string
	// Now: the time of the decision. All clocks of the plugin stand still at it.
	Now() time.Time
	// Pod: the pod that asks, as it is to be.
	Pod() Pod
	// OldPod: the pod as it runs; none of a new one, of a container that starts, and where the host doesn't know.
	OldPod() (Pod, bool)
	// Image: the image that a container is to be started from; of image-resolved alone.
	Image() (ResolvedImage, bool)
	Node() Node
	// OtherPods: the pods that were admitted and have not ended, without the one that asks, with their allocated resources;
	// ordered by namespace and name.
	OtherPods() []Pod
}
