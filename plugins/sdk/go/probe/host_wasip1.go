package probe

import (
	"math"
	"time"

	"witlet.dev/plugin/internal/abi"
)

//go:wasmexport witlet:probe/prober@0.1.0#validate
func exportValidate(address, length uint32) uint32 {
	defer abi.Guard()
	return abi.Refusal(exported.validate(abi.ArgumentText(address, length)))
}

//go:wasmexport witlet:probe/prober@0.1.0#check-parameters
func exportCheckParameters(address, length uint32) uint32 {
	defer abi.Guard()
	return abi.Refusal(exported.checkParameters(abi.ArgumentText(address, length)))
}

//go:wasmexport witlet:probe/prober@0.1.0#probe
func exportProbe(handle, address, length uint32) uint32 {
	defer abi.Guard()
	parameters := abi.ArgumentText(address, length)
	target := &hostTarget{handle: handle}
	outcome, err := exported.probe(target, parameters)
	dropTarget(handle)
	target.handle = 0
	return encode(outcome, err)
}

type hostTarget struct{ handle uint32 }

// HostHandle is the host's handle of the target, for package exec.
func (t *hostTarget) HostHandle() uint32 {
	if t.handle == 0 {
		panic("probe: a target was used after its call")
	}
	return t.handle
}

func (t *hostTarget) Pod() PodRef             { return get(targetPod, t, readPodRef) }
func (t *hostTarget) PodJSON() string         { return get(targetPodJSON, t, abi.Text) }
func (t *hostTarget) Container() string       { return get(targetContainer, t, abi.Text) }
func (t *hostTarget) ContainerID() string     { return get(targetContainerID, t, abi.Text) }
func (t *hostTarget) Restarts() uint32        { return targetRestarts(t.HostHandle()) }
func (t *hostTarget) PodIPs() []string        { return get(targetPodIPs, t, readTexts) }
func (t *hostTarget) HostIPs() []string       { return get(targetHostIPs, t, readTexts) }
func (t *hostTarget) NamedPorts() []NamedPort { return get(targetNamedPorts, t, readNamedPorts) }
func (t *hostTarget) Kind() Kind              { return Kind(targetKind(t.HostHandle())) }

func (t *hostTarget) Remaining() time.Duration {
	milliseconds := targetRemaining(t.HostHandle())
	return time.Duration(min(milliseconds, math.MaxInt64/uint64(time.Millisecond))) * time.Millisecond
}

func (t *hostTarget) PodPointer(path string) (string, bool) {
	handle := t.HostHandle()
	abi.Enter()
	defer abi.Leave()
	address, length := abi.TextArgument(path)
	result := abi.ImportResult()
	targetPodPointer(handle, address, length, result)
	return abi.OptionalText(result)
}

// get calls a getter whose result lies in memory.
func get[T any](getter func(handle, result uint32), target *hostTarget, read func(at uint32) T) T {
	handle := target.HostHandle()
	abi.Enter()
	defer abi.Leave()
	result := abi.ImportResult()
	getter(handle, result)
	return read(result)
}
