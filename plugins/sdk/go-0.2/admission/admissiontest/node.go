package admissiontest

import "witlet.dev/plugin/v0_2/admission"

// node is one with the pods that are on it.
type node struct {
	manifest any
	of       Request
}

func (n node) amounts(field string) map[string]int64 {
	return amounts(get(n.manifest, "status", field))
}

func (n node) requested() map[string]int64 {
	total := map[string]int64{"pods": int64(len(n.of.OtherPods))}
	for _, manifest := range n.of.OtherPods {
		add(total, ofPod(get(parse(manifest), "spec"), "requests"))
	}
	return total
}

func (n node) Name() string                       { return text(get(n.manifest, "metadata", "name")) }
func (n node) Labels() map[string]string          { return pairs(get(n.manifest, "metadata", "labels")) }
func (n node) Facts() map[string]string           { return n.of.Facts }
func (n node) JSON() string                       { return written(n.manifest) }
func (n node) Pointer(path string) (string, bool) { return at(n.manifest, path) }
func (n node) Requested(resource string) int64    { return n.requested()[resource] }
func (n node) Resources() []string {
	return names(n.amounts("capacity"), n.amounts("allocatable"), n.requested())
}

func (n node) Label(key string) (string, bool) {
	value, ok := n.Labels()[key]
	return value, ok
}

func (n node) Fact(key string) (string, bool) {
	value, ok := n.of.Facts[key]
	return value, ok
}

func (n node) Capacity(resource string) (int64, bool) {
	amount, ok := n.amounts("capacity")[resource]
	return amount, ok
}

func (n node) Allocatable(resource string) (int64, bool) {
	amount, ok := n.amounts("allocatable")[resource]
	return amount, ok
}

func (n node) Available(resource string) (int64, bool) {
	amount, ok := n.Allocatable(resource)
	if !ok {
		return 0, false
	}
	return amount - n.Requested(resource), true
}

func (n node) Used(resource string) (int64, bool) {
	amount, ok := n.of.Used[resource]
	return amount, ok
}

func (n node) Devices() string {
	if n.of.Devices == "" {
		return "[]"
	}
	return n.of.Devices
}

func (n node) Taints() []admission.Taint {
	return wrap(items(get(n.manifest, "spec", "taints")), func(spec any) admission.Taint { return taint{spec} })
}

func (n node) Conditions() []admission.Condition {
	return wrap(items(get(n.manifest, "status", "conditions")), func(spec any) admission.Condition { return condition{spec} })
}

func (n node) Condition(kind string) (admission.Condition, bool) {
	for _, condition := range n.Conditions() {
		if condition.Kind() == kind {
			return condition, true
		}
	}
	return nil, false
}

func (n node) UsedHostPorts() (all []admission.HostPort) {
	for _, manifest := range n.of.OtherPods {
		all = append(all, PodOf(manifest).HostPorts()...)
	}
	return all
}

type taint struct{ spec any }

func (t taint) Key() string    { return text(get(t.spec, "key")) }
func (t taint) Value() string  { return text(get(t.spec, "value")) }
func (t taint) Effect() string { return text(get(t.spec, "effect")) }

type condition struct{ spec any }

func (c condition) Kind() string    { return text(get(c.spec, "type")) }
func (c condition) Status() string  { return text(get(c.spec, "status")) }
func (c condition) Reason() string  { return text(get(c.spec, "reason")) }
func (c condition) Message() string { return text(get(c.spec, "message")) }
