// Package metrics has numbers of the plugin's own among the agent's metrics, in contract 0.2. Its world imports
// witlet:host/metrics@0.2.0. What exceeds a bound is left out and counted, never an error.
package metrics

// A Label is a key and a value.
type Label = [2]string
