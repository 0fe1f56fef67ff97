package tcp

//go:wasmimport wasi:sockets/instance-network@0.2.0 instance-network
func instanceNetwork() uint32

//go:wasmimport wasi:sockets/network@0.2.0 [resource-drop]network
func dropNetwork(network uint32)

//go:wasmimport wasi:sockets/tcp-create-socket@0.2.0 create-tcp-socket
func createTCPSocket(family, result uint32)

//go:wasmimport wasi:sockets/tcp@0.2.0 [method]tcp-socket.start-connect
func socketStartConnect(socket, network, family, n0, n1, n2, n3, n4, n5, n6, n7, n8, n9, n10, result uint32)

//go:wasmimport wasi:sockets/tcp@0.2.0 [method]tcp-socket.finish-connect
func socketFinishConnect(socket, result uint32)

//go:wasmimport wasi:sockets/tcp@0.2.0 [method]tcp-socket.subscribe
func socketSubscribe(socket uint32) uint32

//go:wasmimport wasi:sockets/tcp@0.2.0 [resource-drop]tcp-socket
func dropSocket(socket uint32)

//go:wasmimport wasi:sockets/ip-name-lookup@0.2.0 resolve-addresses
func resolveAddresses(network, name, nameLength, result uint32)

//go:wasmimport wasi:sockets/ip-name-lookup@0.2.0 [method]resolve-address-stream.resolve-next-address
func resolveNextAddress(answers, result uint32)

//go:wasmimport wasi:sockets/ip-name-lookup@0.2.0 [method]resolve-address-stream.subscribe
func answersSubscribe(answers uint32) uint32

//go:wasmimport wasi:sockets/ip-name-lookup@0.2.0 [resource-drop]resolve-address-stream
func dropAnswers(answers uint32)

//go:wasmimport wasi:io/streams@0.2.0 [method]input-stream.read
func streamRead(input uint32, length uint64, result uint32)

//go:wasmimport wasi:io/streams@0.2.0 [method]input-stream.subscribe
func inputSubscribe(input uint32) uint32

//go:wasmimport wasi:io/streams@0.2.0 [resource-drop]input-stream
func dropInput(input uint32)

//go:wasmimport wasi:io/streams@0.2.0 [method]output-stream.check-write
func streamCheckWrite(output, result uint32)

//go:wasmimport wasi:io/streams@0.2.0 [method]output-stream.write
func streamWrite(output, bytes, bytesLength, result uint32)

//go:wasmimport wasi:io/streams@0.2.0 [method]output-stream.subscribe
func outputSubscribe(output uint32) uint32

//go:wasmimport wasi:io/streams@0.2.0 [resource-drop]output-stream
func dropOutput(output uint32)

//go:wasmimport wasi:io/error@0.2.0 [resource-drop]error
func dropError(failure uint32)

//go:wasmimport wasi:io/poll@0.2.0 poll
func poll(pollables, length, result uint32)

//go:wasmimport wasi:io/poll@0.2.0 [resource-drop]pollable
func dropPollable(pollable uint32)

//go:wasmimport wasi:clocks/monotonic-clock@0.2.0 subscribe-duration
func subscribeDuration(nanoseconds uint64) uint32
