package probe

import (
	"errors"
	"time"
)

// A Target is the container that is probed. It is valid during the call only, and only what is asked for crosses into the component,
// again at every call.
type Target interface {
	// Pod is its pod.
	Pod() PodRef
	// PodJSON is the whole pod. Decoding it costs more than most probes: prefer the getters and PodPointer.
	PodJSON() string
	// PodPointer is the JSON text at a JSON pointer (RFC 6901) into the pod, such as /metadata/labels/app; false where it has nothing.
	PodPointer(path string) (string, bool)
	// Container is its name in the pod's spec.
	Container() string
	// ContainerID is its id at the runtime, without the runtime's scheme.
	ContainerID() string
	// Restarts is how often it was restarted.
	Restarts() uint32
	// PodIPs are the pod's addresses, the primary one first; empty while it has none.
	PodIPs() []string
	// HostIPs are the node's addresses, the primary one first.
	HostIPs() []string
	// NamedPorts are the ports that the container's spec names, in its order.
	NamedPorts() []NamedPort
	// Kind is which of its probes runs.
	Kind() Kind
	// Remaining is how long the probe may take: at the first call its timeoutSeconds, less each time. A probe that still waits for something
	// then counts as failed.
	Remaining() time.Duration
}

// A PodRef says which pod.
type PodRef struct{ Namespace, Name, UID string }

// A NamedPort is a port that the container's spec names. Protocol is TCP, UDP or SCTP.
type NamedPort struct {
	Name     string
	Port     uint16
	Protocol string
}

// A Kind is which of a container's probes runs.
type Kind uint8

// The kinds.
const (
	Startup Kind = iota
	Readiness
	Liveness
)

// String is the contract's word.
func (k Kind) String() string {
	if words := [...]string{"startup", "readiness", "liveness"}; int(k) < len(words) {
		return words[k]
	}
	return "unknown"
}

// ErrNoAddress is why a pod can't be reached yet.
var ErrNoAddress = errors.New("the pod has no IP address")

// PodIP is the pod's primary address.
func PodIP(target Target) (string, error) {
	if addresses := target.PodIPs(); len(addresses) > 0 && addresses[0] != "" {
		return addresses[0], nil
	}
	return "", ErrNoAddress
}

// Deadline is when the probe's time is over.
func Deadline(target Target) time.Time { return time.Now().Add(target.Remaining()) }

// An Outcome is what was found: [Success], [Warning] or [Failure]. The texts are for people: the host cuts them at 10 KiB and shows them
// in events.
type Outcome interface{ isOutcome() }

type (
	// Success: the probe passes.
	Success string
	// Warning: the probe passes, with something that the operator should know (event ProbeWarning).
	Warning string
	// Failure: the probe fails.
	Failure string
)

func (Success) isOutcome() {}
func (Warning) isOutcome() {}
func (Failure) isOutcome() {}
