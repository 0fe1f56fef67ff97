//go:build !wasip1

package metrics

// Values are what unit tests have added and observed, by name; no component has them.
var Values = map[string]float64{}

// Add adds to the counter witlet_plugin_custom_<name>_total.
func Add(name string, amount uint64, _ ...Label) { Values[name] += float64(amount) }

// Observe adds one observation to the histogram witlet_plugin_custom_<name>.
func Observe(name string, value float64, _ ...Label) { Values[name] += value }
