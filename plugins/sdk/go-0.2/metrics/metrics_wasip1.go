package metrics

import "witlet.dev/plugin/v0_2/internal/contract"

//go:wasmimport witlet:host/metrics@0.2.0 add
func metricsAdd(name, nameLength, labels, labelsLength uint32, amount uint64)

//go:wasmimport witlet:host/metrics@0.2.0 observe
func metricsObserve(name, nameLength, labels, labelsLength uint32, value float64)

// Add adds to the counter witlet_plugin_custom_<name>_total.
func Add(name string, amount uint64, labels ...Label) {
	contract.WithTextAndPairs(name, labels, func(a, b, c, d uint32) { metricsAdd(a, b, c, d, amount) })
}

// Observe adds one observation to the histogram witlet_plugin_custom_<name>.
func Observe(name string, value float64, labels ...Label) {
	contract.WithTextAndPairs(name, labels, func(a, b, c, d uint32) { metricsObserve(a, b, c, d, value) })
}
