package probe

import (
	"time"

	"witlet.dev/plugin/v0_2/internal/contract"
	"witlet.dev/plugin/internal/abi"
)

//go:wasmexport witlet:probe/prober@0.2.0#validate
func exportValidate(setup, address, length uint32) uint32 {
	defer abi.Guard()
	config := abi.ArgumentText(address, length)
	lent := contract.Lend(setup, dropSetup)
	err := exported.validate(config, func(message string) { contract.CallText(setupWarn, lent, message) })
	contract.GiveBack()
	return contract.Result(err)
}

//go:wasmexport witlet:probe/prober@0.2.0#check-parameters
func exportCheckParameters(check, address, length uint32) uint32 {
	defer abi.Guard()
	parameters := abi.ArgumentText(address, length)
	lent := contract.Lend(check, dropCheck)
	warn := func(message string) { contract.CallText(checkWarn, lent, message) }
	err := exported.checkParameters(contract.ConfigText(), parameters, warn)
	contract.GiveBack()
	return contract.Result(err)
}

//go:wasmexport witlet:probe/prober@0.2.0#probe
func exportProbe(target, address, length, answer uint32) uint32 {
	defer abi.Guard()
	parameters := abi.ArgumentText(address, length)
	lentTarget, lentAnswer := contract.Lend(target, dropTarget), contract.Lend(answer, dropAnswer)
	outcome, err := exported.probe(contract.ConfigText(), hostTarget{lentTarget}, parameters)
	if err == nil {
		outcome.say(lentAnswer)
	}
	contract.GiveBack()
	return contract.Result(err)
}

func (o Outcome) say(answer *contract.Lease) {
	switch o.Found {
	case "success":
		contract.CallText(answerSuccess, answer, o.Message)
	case "failure":
		contract.CallText(answerFailure, answer, o.Message)
	case "unknown":
		contract.CallText(answerUnknown, answer, o.Message)
	}
	for _, message := range o.Warnings {
		contract.CallText(answerWarn, answer, message)
	}
	for _, pair := range o.Annotations {
		contract.WithTexts(pair[0], pair[1], func(a, b, c, d uint32) { answerAnnotate(answer.Live(), a, b, c, d) })
	}
	if o.Latency > 0 {
		answerLatency(answer.Live(), uint64(o.Latency))
	}
}

type hostTarget struct{ *contract.Lease }

func (h hostTarget) Pod() Pod { return hostPod{contract.Lend(targetPod(h.Live()), dropPod)} }
func (h hostTarget) Container() Container {
	return hostContainer{contract.Lend(targetContainer(h.Live()), dropContainer)}
}
func (h hostTarget) Kind() string { return contract.Get(targetKind, h.Lease, abi.Text) }
func (h hostTarget) Timeout() time.Duration {
	return time.Duration(targetTimeout(h.Live())) * time.Millisecond
}
func (h hostTarget) Remaining() time.Duration {
	return time.Duration(targetRemaining(h.Live())) * time.Millisecond
}

type hostPod struct{ *contract.Lease }

func (h hostPod) Namespace() string { return contract.Get(podNamespace, h.Lease, abi.Text) }
func (h hostPod) Name() string      { return contract.Get(podName, h.Lease, abi.Text) }
func (h hostPod) UID() string       { return contract.Get(podUID, h.Lease, abi.Text) }
func (h hostPod) Label(key string) (string, bool) {
	return contract.GetOptional(podLabel, h.Lease, key, abi.Text, 4)
}
func (h hostPod) Labels() map[string]string { return contract.Get(podLabels, h.Lease, abi.Pairs) }
func (h hostPod) Annotation(key string) (string, bool) {
	return contract.GetOptional(podAnnotation, h.Lease, key, abi.Text, 4)
}
func (h hostPod) Annotations() map[string]string {
	return contract.Get(podAnnotations, h.Lease, abi.Pairs)
}
func (h hostPod) Addresses() []string     { return contract.Get(podAddresses, h.Lease, texts) }
func (h hostPod) HostAddresses() []string { return contract.Get(podHostAddresses, h.Lease, texts) }
func (h hostPod) HostNetwork() bool       { return podHostNetwork(h.Live()) != 0 }
func (h hostPod) JSON() string            { return contract.Get(podJSON, h.Lease, abi.Text) }
func (h hostPod) Pointer(path string) (string, bool) {
	return contract.GetOptional(podPointer, h.Lease, path, abi.Text, 4)
}

type hostContainer struct{ *contract.Lease }

func (h hostContainer) Name() string     { return contract.Get(containerName, h.Lease, abi.Text) }
func (h hostContainer) ID() string       { return contract.Get(containerID, h.Lease, abi.Text) }
func (h hostContainer) Restarts() uint32 { return containerRestarts(h.Live()) }
func (h hostContainer) Image() string    { return contract.Get(containerImage, h.Lease, abi.Text) }
func (h hostContainer) Ports() []Port {
	handles := contract.Get(containerPorts, h.Lease, func(at uint32) []uint32 { return abi.List(at, 4, abi.U32) })
	ports := make([]Port, 0, len(handles))
	for _, handle := range handles {
		port := contract.Lend(handle, dropPort)
		ports = append(ports, Port{
			Name:     contract.Get(portName, port, abi.Text),
			Number:   uint16(portNumber(port.Live())),
			Protocol: contract.Get(portProtocol, port, abi.Text),
		})
	}
	return ports
}
func (h hostContainer) Port(name string) (uint16, bool) {
	return contract.GetOptional(containerPort, h.Lease, name, abi.U16, 2)
}
func (h hostContainer) Pointer(path string) (string, bool) {
	return contract.GetOptional(containerPointer, h.Lease, path, abi.Text, 4)
}

func texts(at uint32) []string { return abi.List(at, abi.TextSize, abi.Text) }
