package host

import (
	"witlet.dev/plugin/v0_2/internal/contract"
	"witlet.dev/plugin/internal/abi"
)

//go:wasmimport witlet:host/node@0.2.0 name
func nodeName(result uint32)

//go:wasmimport witlet:host/node@0.2.0 label
func nodeLabel(address, length, result uint32)

//go:wasmimport witlet:host/node@0.2.0 labels
func nodeLabels(result uint32)

//go:wasmimport witlet:host/node@0.2.0 zone
func nodeZone(result uint32)

//go:wasmimport witlet:host/node@0.2.0 addresses
func nodeAddresses(result uint32)

//go:wasmimport witlet:host/node@0.2.0 allocatable
func nodeAllocatable(address, length, result uint32)

//go:wasmimport witlet:host/features@0.2.0 has
func featuresHas(address, length uint32) uint32

//go:wasmimport witlet:host/log@0.2.0 enabled
func logEnabled(level uint32) uint32

// NodeName is the node's name; false where the host stands for no node.
func NodeName() (string, bool) { return read(nodeName, abi.OptionalText) }

// NodeLabel is the value of this label of the node.
func NodeLabel(key string) (string, bool) { return readOf(nodeLabel, key, abi.OptionalText) }

// NodeLabels are all labels of the node.
func NodeLabels() map[string]string {
	labels, _ := read(nodeLabels, func(at uint32) (map[string]string, bool) { return abi.Pairs(at), true })
	return labels
}

// NodeZone is the label topology.kubernetes.io/zone.
func NodeZone() (string, bool) { return read(nodeZone, abi.OptionalText) }

// NodeAddresses are the addresses of the host, first the one that pods on the host network report.
func NodeAddresses() []string {
	addresses, _ := read(nodeAddresses, func(at uint32) ([]string, bool) { return abi.List(at, abi.TextSize, abi.Text), true })
	return addresses
}

// NodeAllocatable is how much of this resource pods may have: cpu in milli-CPU, everything else in base units.
func NodeAllocatable(resource string) (int64, bool) {
	return readOf(nodeAllocatable, resource, func(at uint32) (int64, bool) { return int64(abi.U64(at + 8)), abi.Flag(at) != 0 })
}

// HasFeature is whether the host has this, of the names that requires in a PluginConfiguration takes.
func HasFeature(name string) bool {
	abi.Enter()
	defer abi.Leave()
	address, length := abi.TextArgument(name)
	return featuresHas(address, length) != 0
}

// LogEnabled is whether a line of this level would be written.
func LogEnabled(level Level) bool { return logEnabled(uint32(level)) != 0 }

// Kept is an error as the host keeps it: cut to its bounds. It is there until the call ends.
func Kept(err error) *Failure { return contract.Kept(err) }

func read[T any](getter func(result uint32), read func(at uint32) (T, bool)) (T, bool) {
	abi.Enter()
	defer abi.Leave()
	result := abi.ImportResult()
	getter(result)
	return read(result)
}

func readOf[T any](getter func(address, length, result uint32), text string, read func(at uint32) (T, bool)) (T, bool) {
	abi.Enter()
	defer abi.Leave()
	address, length := abi.TextArgument(text)
	result := abi.ImportResult()
	getter(address, length, result)
	return read(result)
}
