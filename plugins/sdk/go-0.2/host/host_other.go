//go:build !wasip1

package host

import "witlet.dev/plugin/v0_2/internal/contract"

// A Node is what unit tests have in place of the node; no component has it.
type Node struct {
	Name, Zone  string
	Labels      map[string]string
	Addresses   []string
	Allocatable map[string]int64
}

var (
	// TestNode stands for the node in unit tests.
	TestNode Node
	// TestFeatures are what the host has in unit tests.
	TestFeatures = map[string]bool{}
)

// NodeName is the node's name.
func NodeName() (string, bool) { return TestNode.Name, TestNode.Name != "" }

// NodeLabel is the value of this label of the node.
func NodeLabel(key string) (string, bool) {
	value, ok := TestNode.Labels[key]
	return value, ok
}

// NodeLabels are all labels of the node.
func NodeLabels() map[string]string { return TestNode.Labels }

// NodeZone is the label topology.kubernetes.io/zone.
func NodeZone() (string, bool) { return TestNode.Zone, TestNode.Zone != "" }

// NodeAddresses are the addresses of the host.
func NodeAddresses() []string { return TestNode.Addresses }

// NodeAllocatable is how much of this resource pods may have.
func NodeAllocatable(resource string) (int64, bool) {
	amount, ok := TestNode.Allocatable[resource]
	return amount, ok
}

// HasFeature is whether the host has this.
func HasFeature(name string) bool { return TestFeatures[name] }

// LogEnabled is true: unit tests write all lines.
func LogEnabled(Level) bool { return true }

// Kept is an error as the host keeps it.
func Kept(err error) *Failure { return contract.AsError(err) }
