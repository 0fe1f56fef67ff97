//go:build !wasip1

package host

// Outside a component there is no host, and no configuration.
func configText() string { return "null" }
