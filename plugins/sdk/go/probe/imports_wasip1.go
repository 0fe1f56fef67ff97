package probe

//go:wasmimport witlet:probe/types@0.1.0 [method]target.pod
func targetPod(handle, result uint32)

//go:wasmimport witlet:probe/types@0.1.0 [method]target.pod-json
func targetPodJSON(handle, result uint32)

//go:wasmimport witlet:probe/types@0.1.0 [method]target.pod-pointer
func targetPodPointer(handle, address, length, result uint32)

//go:wasmimport witlet:probe/types@0.1.0 [method]target.container
func targetContainer(handle, result uint32)

//go:wasmimport witlet:probe/types@0.1.0 [method]target.container-id
func targetContainerID(handle, result uint32)

//go:wasmimport witlet:probe/types@0.1.0 [method]target.restarts
func targetRestarts(handle uint32) uint32

//go:wasmimport witlet:probe/types@0.1.0 [method]target.pod-ips
func targetPodIPs(handle, result uint32)

//go:wasmimport witlet:probe/types@0.1.0 [method]target.host-ips
func targetHostIPs(handle, result uint32)

//go:wasmimport witlet:probe/types@0.1.0 [method]target.named-ports
func targetNamedPorts(handle, result uint32)

//go:wasmimport witlet:probe/types@0.1.0 [method]target.kind
func targetKind(handle uint32) uint32

//go:wasmimport witlet:probe/types@0.1.0 [method]target.remaining-milliseconds
func targetRemaining(handle uint32) uint64

//go:wasmimport witlet:probe/types@0.1.0 [resource-drop]target
func dropTarget(handle uint32)
