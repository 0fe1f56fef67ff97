package admission

//go:wasmimport witlet:admission/types@0.1.0 [method]request.operation
func requestOperation(handle uint32) uint32

//go:wasmimport witlet:admission/types@0.1.0 [method]request.now
func requestNow(handle, result uint32)

//go:wasmimport witlet:admission/types@0.1.0 [method]request.pod
func requestPod(handle uint32) uint32

//go:wasmimport witlet:admission/types@0.1.0 [method]request.node
func requestNode(handle uint32) uint32

//go:wasmimport witlet:admission/types@0.1.0 [method]request.other-pods
func requestOtherPods(handle, result uint32)

//go:wasmimport witlet:admission/types@0.1.0 [resource-drop]request
func dropRequest(handle uint32)

//go:wasmimport witlet:admission/types@0.1.0 [method]pod.identity
func podIdentity(handle, result uint32)

//go:wasmimport witlet:admission/types@0.1.0 [method]pod.source
func podSource(handle, result uint32)

//go:wasmimport witlet:admission/types@0.1.0 [method]pod.labels
func podLabels(handle, result uint32)

//go:wasmimport witlet:admission/types@0.1.0 [method]pod.annotations
func podAnnotations(handle, result uint32)

//go:wasmimport witlet:admission/types@0.1.0 [method]pod.priority
func podPriority(handle uint32) int32

//go:wasmimport witlet:admission/types@0.1.0 [method]pod.containers
func podContainers(handle, result uint32)

//go:wasmimport witlet:admission/types@0.1.0 [method]pod.requests
func podRequests(handle, result uint32)

//go:wasmimport witlet:admission/types@0.1.0 [method]pod.host-ports
func podHostPorts(handle, result uint32)

//go:wasmimport witlet:admission/types@0.1.0 [method]pod.qos
func podQOS(handle uint32) uint32

//go:wasmimport witlet:admission/types@0.1.0 [method]pod.json
func podJSON(handle, result uint32)

//go:wasmimport witlet:admission/types@0.1.0 [method]pod.pointer
func podPointer(handle, address, length, result uint32)

//go:wasmimport witlet:admission/types@0.1.0 [resource-drop]pod
func dropPod(handle uint32)

//go:wasmimport witlet:admission/types@0.1.0 [method]node.name
func nodeName(handle, result uint32)

//go:wasmimport witlet:admission/types@0.1.0 [method]node.labels
func nodeLabels(handle, result uint32)

//go:wasmimport witlet:admission/types@0.1.0 [method]node.taints
func nodeTaints(handle, result uint32)

//go:wasmimport witlet:admission/types@0.1.0 [method]node.capacity
func nodeCapacity(handle, result uint32)

//go:wasmimport witlet:admission/types@0.1.0 [method]node.allocatable
func nodeAllocatable(handle, result uint32)

//go:wasmimport witlet:admission/types@0.1.0 [method]node.requested
func nodeRequested(handle, result uint32)

//go:wasmimport witlet:admission/types@0.1.0 [method]node.used-host-ports
func nodeUsedHostPorts(handle, result uint32)

//go:wasmimport witlet:admission/types@0.1.0 [method]node.conditions
func nodeConditions(handle, result uint32)

//go:wasmimport witlet:admission/types@0.1.0 [method]node.facts
func nodeFacts(handle, result uint32)

//go:wasmimport witlet:admission/types@0.1.0 [method]node.devices
func nodeDevices(handle, result uint32)

//go:wasmimport witlet:admission/types@0.1.0 [method]node.json
func nodeJSON(handle, result uint32)

//go:wasmimport witlet:admission/types@0.1.0 [method]node.pointer
func nodePointer(handle, address, length, result uint32)

//go:wasmimport witlet:admission/types@0.1.0 [resource-drop]node
func dropNode(handle uint32)
