package admission

import "time"

// A Request is one question. It is valid during the call only. What was asked for once is remembered where the contract has a handle.
type Request interface {
	// Operation is why admission is asked.
	Operation() Operation
	// Now is the time of the decision. All clocks stand still at it.
	Now() time.Time
	// Pod is the pod that asks.
	Pod() Pod
	// Node is the node.
	Node() Node
	// OtherPods are the pods that were admitted and have not ended, without the one that asks, with their allocated resources; ordered by
	// namespace and name.
	OtherPods() []Pod
}

// A Pod is read lazily: only what is asked for crosses into the component, again at every call.
type Pod interface {
	// Identity is which pod it is.
	Identity() PodRef
	// Source is the source that brought it: file, http, api, or a plugin's name.
	Source() string
	// Labels are its metadata.labels.
	Labels() map[string]string
	// Annotations are its metadata.annotations.
	Annotations() map[string]string
	// Priority is its spec.priority, or 0.
	Priority() int32
	// Containers are all of its containers: init containers and sidecars, app containers, ephemeral containers, each in the spec's order.
	Containers() []Container
	// Requests are what the pod counts for on the node by the scheduler's rules, sorted by resource; pods isn't among them.
	Requests() []Quantity
	// HostPorts are the ports that it takes on the host, in the spec's order.
	HostPorts() []HostPort
	// QOS is its quality of service class.
	QOS() QOSClass
	// JSON is the whole pod. Decoding it costs more than a call: prefer the getters and Pointer.
	JSON() string
	// Pointer is the JSON text at a JSON pointer (RFC 6901), such as /spec/containers/0/image; false where the pod has nothing.
	Pointer(path string) (string, bool)
}

// A Node is read lazily, as a pod is.
type Node interface {
	// Name is its metadata.name.
	Name() string
	// Labels are its metadata.labels.
	Labels() map[string]string
	// Taints are its spec.taints.
	Taints() []Taint
	// Capacity is its status.capacity, sorted by resource; pods is among them.
	Capacity() []Quantity
	// Allocatable is its status.allocatable, sorted by resource; pods is among them.
	Allocatable() []Quantity
	// Requested is what the other admitted pods count for together, sorted by resource; pods is their number.
	Requested() []Quantity
	// UsedHostPorts are the ports that the other admitted pods take on the host.
	UsedHostPorts() []HostPort
	// Conditions are its status.conditions.
	Conditions() []Condition
	// Facts are about the machine and the runtime, by keys such as cgroup.version. Keys may be added at any time; one that is missing is
	// unknown.
	Facts() map[string]string
	// Devices are those that pods can ask for, as a JSON array.
	Devices() string
	// JSON is the whole node.
	JSON() string
	// Pointer is the JSON text at a JSON pointer (RFC 6901); false where the node has nothing.
	Pointer(path string) (string, bool)
}

// An Operation is why admission is asked.
type Operation uint8

// The operations.
const (
	// Add: the pod is new to this node.
	Add Operation = iota
	// Resize: a running pod asks for other resources.
	Resize
)

// String is the contract's word.
func (o Operation) String() string { return word(uint8(o), "add", "resize") }

// A PodRef says which pod.
type PodRef struct{ Namespace, Name, UID string }

// A QOSClass is a quality of service class, as Kubernetes derives it from requests and limits.
type QOSClass uint8

// The classes.
const (
	Guaranteed QOSClass = iota
	Burstable
	BestEffort
)

// String is the contract's word.
func (q QOSClass) String() string { return word(uint8(q), "guaranteed", "burstable", "best-effort") }

// A ContainerKind is when a container runs.
type ContainerKind uint8

// The kinds.
const (
	// InitContainer: before the others, to its end.
	InitContainer ContainerKind = iota
	// Sidecar: an init container with restartPolicy Always.
	Sidecar
	// AppContainer: one of spec.containers.
	AppContainer
	// EphemeralContainer: added to a running pod.
	EphemeralContainer
)

// String is the contract's word.
func (k ContainerKind) String() string {
	return word(uint8(k), "init", "sidecar", "app", "ephemeral")
}

// A Container is one of a pod's. Image is as the spec has it, empty if it names none.
type Container struct {
	Name  string
	Kind  ContainerKind
	Image string
}

// A Quantity is how much of a resource: cpu in milli-CPU, everything else in base units (bytes, pieces).
type Quantity struct {
	Resource string
	Amount   int64
}

// A HostPort is a port on the host. IP 0.0.0.0 stands for all addresses; Protocol is TCP, UDP or SCTP.
type HostPort struct {
	IP, Protocol string
	Port         uint16
}

// A Taint is one of the node's. Effect is NoSchedule, PreferNoSchedule or NoExecute.
type Taint struct{ Key, Value, Effect string }

// A Condition is one of the node's. Status is True, False or Unknown.
type Condition struct{ Kind, Status, Reason, Message string }

// AmountOf is how much of a resource a list has, 0 if it hasn't any.
func AmountOf(quantities []Quantity, resource string) int64 {
	for _, quantity := range quantities {
		if quantity.Resource == resource {
			return quantity.Amount
		}
	}
	return 0
}

func word(number uint8, words ...string) string {
	if int(number) < len(words) {
		return words[number]
	}
	return "unknown"
}
