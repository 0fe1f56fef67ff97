package admission

import (
	"time"

	"witlet.dev/plugin/internal/abi"
)

//go:wasmexport witlet:admission/handler@0.1.0#validate
func exportValidate(address, length uint32) uint32 {
	defer abi.Guard()
	return abi.Refusal(exported.validate(abi.ArgumentText(address, length)))
}

//go:wasmexport witlet:admission/handler@0.1.0#admit
func exportAdmit(handle uint32) uint32 {
	defer abi.Guard()
	request := &hostRequest{handle: handle}
	verdict, err := exported.admit(request)
	request.drop()
	return encode(verdict, err)
}

const used = "admission: a request, pod or node was used after its call"

// live is the handle of something that the host still has. 0 is none's.
func live(handle uint32) uint32 {
	if handle == 0 {
		panic(used)
	}
	return handle
}

// hostRequest keeps the handles that the host gave, in order to give them back.
type hostRequest struct {
	handle uint32
	pod    *hostPod
	node   *hostNode
	// others are not those of the handler, which may sort its list, or take pods out of it.
	others []*hostPod
}

func (r *hostRequest) drop() {
	if r.pod != nil {
		r.pod.drop()
	}
	if r.node != nil {
		dropNode(r.node.handle)
		r.node.handle = 0
	}
	for _, pod := range r.others {
		pod.drop()
	}
	dropRequest(r.handle)
	r.handle = 0
}

func (r *hostRequest) Operation() Operation { return Operation(requestOperation(live(r.handle))) }

func (r *hostRequest) Now() time.Time { return get(requestNow, r.handle, readTime) }

func (r *hostRequest) Pod() Pod {
	if r.pod == nil {
		r.pod = &hostPod{requestPod(live(r.handle))}
	}
	return r.pod
}

func (r *hostRequest) Node() Node {
	if r.node == nil {
		r.node = &hostNode{requestNode(live(r.handle))}
	}
	return r.node
}

func (r *hostRequest) OtherPods() []Pod {
	if r.others == nil {
		r.others = get(requestOtherPods, r.handle, func(at uint32) []*hostPod {
			return abi.List(at, 4, func(at uint32) *hostPod { return &hostPod{abi.U32(at)} })
		})
	}
	pods := make([]Pod, len(r.others))
	for i, pod := range r.others {
		pods[i] = pod
	}
	return pods
}

type hostPod struct{ handle uint32 }

func (p *hostPod) drop() {
	dropPod(p.handle)
	p.handle = 0
}

func (p *hostPod) Identity() PodRef               { return get(podIdentity, p.handle, readPodRef) }
func (p *hostPod) Source() string                 { return get(podSource, p.handle, abi.Text) }
func (p *hostPod) Labels() map[string]string      { return get(podLabels, p.handle, abi.Pairs) }
func (p *hostPod) Annotations() map[string]string { return get(podAnnotations, p.handle, abi.Pairs) }
func (p *hostPod) Priority() int32                { return podPriority(live(p.handle)) }
func (p *hostPod) Containers() []Container        { return get(podContainers, p.handle, readContainers) }
func (p *hostPod) Requests() []Quantity           { return get(podRequests, p.handle, readQuantities) }
func (p *hostPod) HostPorts() []HostPort          { return get(podHostPorts, p.handle, readHostPorts) }
func (p *hostPod) QOS() QOSClass                  { return QOSClass(podQOS(live(p.handle))) }
func (p *hostPod) JSON() string                   { return get(podJSON, p.handle, abi.Text) }

func (p *hostPod) Pointer(path string) (string, bool) { return pointer(podPointer, p.handle, path) }

type hostNode struct{ handle uint32 }

func (n *hostNode) Name() string              { return get(nodeName, n.handle, abi.Text) }
func (n *hostNode) Labels() map[string]string { return get(nodeLabels, n.handle, abi.Pairs) }
func (n *hostNode) Taints() []Taint           { return get(nodeTaints, n.handle, readTaints) }
func (n *hostNode) Capacity() []Quantity      { return get(nodeCapacity, n.handle, readQuantities) }
func (n *hostNode) Allocatable() []Quantity   { return get(nodeAllocatable, n.handle, readQuantities) }
func (n *hostNode) Requested() []Quantity     { return get(nodeRequested, n.handle, readQuantities) }
func (n *hostNode) UsedHostPorts() []HostPort { return get(nodeUsedHostPorts, n.handle, readHostPorts) }
func (n *hostNode) Conditions() []Condition   { return get(nodeConditions, n.handle, readConditions) }
func (n *hostNode) Facts() map[string]string  { return get(nodeFacts, n.handle, abi.Pairs) }
func (n *hostNode) Devices() string           { return get(nodeDevices, n.handle, abi.Text) }
func (n *hostNode) JSON() string              { return get(nodeJSON, n.handle, abi.Text) }

func (n *hostNode) Pointer(path string) (string, bool) { return pointer(nodePointer, n.handle, path) }

// get calls a getter whose result lies in memory.
func get[T any](getter func(handle, result uint32), handle uint32, read func(at uint32) T) T {
	handle = live(handle)
	abi.Enter()
	defer abi.Leave()
	result := abi.ImportResult()
	getter(handle, result)
	return read(result)
}

func pointer(getter func(handle, address, length, result uint32), handle uint32, path string) (string, bool) {
	handle = live(handle)
	abi.Enter()
	defer abi.Leave()
	address, length := abi.TextArgument(path)
	result := abi.ImportResult()
	getter(handle, address, length, result)
	return abi.OptionalText(result)
}
