package probe

//go:wasmimport witlet:probe/probe-types@0.2.0 [method]setup.warn
func setupWarn(handle, address, length uint32)

//go:wasmimport witlet:probe/probe-types@0.2.0 [method]check.warn
func checkWarn(handle, address, length uint32)

//go:wasmimport witlet:probe/probe-types@0.2.0 [method]answer.success
func answerSuccess(handle, address, length uint32)

//go:wasmimport witlet:probe/probe-types@0.2.0 [method]answer.failure
func answerFailure(handle, address, length uint32)

//go:wasmimport witlet:probe/probe-types@0.2.0 [method]answer.unknown
func answerUnknown(handle, address, length uint32)

//go:wasmimport witlet:probe/probe-types@0.2.0 [method]answer.warn
func answerWarn(handle, address, length uint32)

//go:wasmimport witlet:probe/probe-types@0.2.0 [method]answer.latency
func answerLatency(handle uint32, nanoseconds uint64)

//go:wasmimport witlet:probe/probe-types@0.2.0 [method]answer.annotate
func answerAnnotate(handle, keyAddress, keyLength, valueAddress, valueLength uint32)

//go:wasmimport witlet:probe/probe-types@0.2.0 [method]target.pod
func targetPod(handle uint32) uint32

//go:wasmimport witlet:probe/probe-types@0.2.0 [method]target.container
func targetContainer(handle uint32) uint32

//go:wasmimport witlet:probe/probe-types@0.2.0 [method]target.kind
func targetKind(handle, result uint32)

//go:wasmimport witlet:probe/probe-types@0.2.0 [method]target.timeout-milliseconds
func targetTimeout(handle uint32) uint64

//go:wasmimport witlet:probe/probe-types@0.2.0 [method]target.remaining-milliseconds
func targetRemaining(handle uint32) uint64

//go:wasmimport witlet:probe/probe-types@0.2.0 [method]pod.namespace
func podNamespace(handle, result uint32)

//go:wasmimport witlet:probe/probe-types@0.2.0 [method]pod.name
func podName(handle, result uint32)

//go:wasmimport witlet:probe/probe-types@0.2.0 [method]pod.uid
func podUID(handle, result uint32)

//go:wasmimport witlet:probe/probe-types@0.2.0 [method]pod.labels
func podLabels(handle, result uint32)

//go:wasmimport witlet:probe/probe-types@0.2.0 [method]pod.annotations
func podAnnotations(handle, result uint32)

//go:wasmimport witlet:probe/probe-types@0.2.0 [method]pod.addresses
func podAddresses(handle, result uint32)

//go:wasmimport witlet:probe/probe-types@0.2.0 [method]pod.host-addresses
func podHostAddresses(handle, result uint32)

//go:wasmimport witlet:probe/probe-types@0.2.0 [method]pod.json
func podJSON(handle, result uint32)

//go:wasmimport witlet:probe/probe-types@0.2.0 [method]pod.label
func podLabel(handle, address, length, result uint32)

//go:wasmimport witlet:probe/probe-types@0.2.0 [method]pod.annotation
func podAnnotation(handle, address, length, result uint32)

//go:wasmimport witlet:probe/probe-types@0.2.0 [method]pod.pointer
func podPointer(handle, address, length, result uint32)

//go:wasmimport witlet:probe/probe-types@0.2.0 [method]pod.host-network
func podHostNetwork(handle uint32) uint32

//go:wasmimport witlet:probe/probe-types@0.2.0 [method]container.name
func containerName(handle, result uint32)

//go:wasmimport witlet:probe/probe-types@0.2.0 [method]container.id
func containerID(handle, result uint32)

//go:wasmimport witlet:probe/probe-types@0.2.0 [method]container.image
func containerImage(handle, result uint32)

//go:wasmimport witlet:probe/probe-types@0.2.0 [method]container.ports
func containerPorts(handle, result uint32)

//go:wasmimport witlet:probe/probe-types@0.2.0 [method]container.restarts
func containerRestarts(handle uint32) uint32

//go:wasmimport witlet:probe/probe-types@0.2.0 [method]container.port
func containerPort(handle, address, length, result uint32)

//go:wasmimport witlet:probe/probe-types@0.2.0 [method]container.pointer
func containerPointer(handle, address, length, result uint32)

//go:wasmimport witlet:probe/probe-types@0.2.0 [method]container-port.name
func portName(handle, result uint32)

//go:wasmimport witlet:probe/probe-types@0.2.0 [method]container-port.protocol
func portProtocol(handle, result uint32)

//go:wasmimport witlet:probe/probe-types@0.2.0 [method]container-port.number
func portNumber(handle uint32) uint32

//go:wasmimport witlet:probe/probe-types@0.2.0 [resource-drop]setup
func dropSetup(handle uint32)

//go:wasmimport witlet:probe/probe-types@0.2.0 [resource-drop]check
func dropCheck(handle uint32)

//go:wasmimport witlet:probe/probe-types@0.2.0 [resource-drop]answer
func dropAnswer(handle uint32)

//go:wasmimport witlet:probe/probe-types@0.2.0 [resource-drop]target
func dropTarget(handle uint32)

//go:wasmimport witlet:probe/probe-types@0.2.0 [resource-drop]pod
func dropPod(handle uint32)

//go:wasmimport witlet:probe/probe-types@0.2.0 [resource-drop]container
func dropContainer(handle uint32)

//go:wasmimport witlet:probe/probe-types@0.2.0 [resource-drop]container-port
func dropPort(handle uint32)
