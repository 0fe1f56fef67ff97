package probe

import (
	"witlet.dev/plugin/v0_2/internal/contract"
	"witlet.dev/plugin/internal/abi"
)

//go:wasmimport witlet:probe/exec@0.2.0 run
func execRun(target, command, length, result uint32)

//go:wasmimport witlet:probe/exec@0.2.0 [method]ended.exit-code
func endedExitCode(handle uint32) int32

//go:wasmimport witlet:probe/exec@0.2.0 [method]ended.output
func endedOutput(handle, result uint32)

//go:wasmimport witlet:probe/exec@0.2.0 [method]ended.error-output
func endedErrorOutput(handle, result uint32)

//go:wasmimport witlet:probe/exec@0.2.0 [resource-drop]ended
func dropEnded(handle uint32)

//go:wasmimport witlet:probe/connections@0.2.0 open
func connectionsOpen(target, host, length, port, result uint32)

//go:wasmimport witlet:probe/connections@0.2.0 open-loopback
func connectionsOpenLoopback(target, port, result uint32)

//go:wasmimport witlet:probe/connections@0.2.0 [method]connection.start-tls
func connectionStartTLS(handle, address, length, result uint32)

//go:wasmimport witlet:probe/connections@0.2.0 [method]connection.write
func connectionWrite(handle, address, length, result uint32)

//go:wasmimport witlet:probe/connections@0.2.0 [method]connection.read
func connectionRead(handle uint32, length uint64, result uint32)

//go:wasmimport witlet:probe/connections@0.2.0 [method]connection.shutdown
func connectionShutdown(handle, result uint32)

//go:wasmimport witlet:probe/connections@0.2.0 [method]connection.peer-certificates
func connectionPeerCertificates(handle, result uint32)

//go:wasmimport witlet:probe/connections@0.2.0 [resource-drop]connection
func dropConnection(handle uint32)

func (h hostTarget) RunCommand(command []string) (Ended, error) {
	target := h.Live()
	var address, length uint32
	layOut := func() {
		abi.Arguments.Begin(abi.TextSize)
		abi.Arguments.Texts(0, command)
		at := abi.Arguments.Address()
		address, length = abi.U32(at), abi.U32(at+4)
	}
	handle, err := contract.Returned(func(result uint32) { execRun(target, address, length, result) }, abi.U32, layOut)
	if err != nil {
		return Ended{}, err
	}
	ended := contract.Lend(handle, dropEnded)
	return Ended{
		ExitCode:    endedExitCode(ended.Live()),
		Output:      contract.Get(endedOutput, ended, abi.Bytes),
		ErrorOutput: contract.Get(endedErrorOutput, ended, abi.Bytes),
	}, nil
}

func (h hostTarget) OpenConnection(host string, port uint16) (Connection, error) {
	target := h.Live()
	var address, length uint32
	layOut := func() { address, length = abi.TextArgument(host) }
	open := func(result uint32) { connectionsOpen(target, address, length, uint32(port), result) }
	return opened(contract.Returned(open, abi.U32, layOut))
}

func (h hostTarget) OpenLoopbackConnection(port uint16) (Connection, error) {
	target := h.Live()
	open := func(result uint32) { connectionsOpenLoopback(target, uint32(port), result) }
	return opened(contract.Returned(open, abi.U32, nil))
}

func opened(handle uint32, err error) (Connection, error) {
	if err != nil {
		return nil, err
	}
	return hostConnection{contract.Lend(handle, dropConnection)}, nil
}

type hostConnection struct{ *contract.Lease }

// done calls a function with bytes that returns nothing but an error.
func (h hostConnection) done(function func(handle, address, length, result uint32), bytes []byte) error {
	handle := h.Live()
	var address, length uint32
	layOut := func() {
		abi.Arguments.Begin(abi.TextSize)
		abi.Arguments.Bytes(0, bytes)
		at := abi.Arguments.Address()
		address, length = abi.U32(at), abi.U32(at+4)
	}
	return contract.Done(func(result uint32) { function(handle, address, length, result) }, layOut)
}

func (h hostConnection) StartTLS(serverName string) error {
	return h.done(connectionStartTLS, []byte(serverName))
}
func (h hostConnection) Send(bytes []byte) error { return h.done(connectionWrite, bytes) }
func (h hostConnection) Receive(length uint64) ([]byte, error) {
	handle := h.Live()
	return contract.Returned(func(result uint32) { connectionRead(handle, length, result) }, abi.Bytes, nil)
}
func (h hostConnection) Shutdown() error {
	handle := h.Live()
	return contract.Done(func(result uint32) { connectionShutdown(handle, result) }, nil)
}
func (h hostConnection) PeerCertificates() [][]byte {
	return contract.Get(connectionPeerCertificates, h, func(at uint32) [][]byte { return abi.List(at, abi.TextSize, abi.Bytes) })
}
