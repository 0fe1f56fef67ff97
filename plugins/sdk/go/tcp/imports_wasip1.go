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
