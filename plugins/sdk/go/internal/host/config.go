// Package host has what components of all roles use of the host: the plugin's configuration, and its log.
package host

import "witlet.dev/plugin"

// A Config is the plugin's configuration, decoded when it is first needed: an instance never sees another one.
type Config[C any] struct{ decoded *C }

// NewConfig is one that nothing has needed yet.
func NewConfig[C any]() *Config[C] { return &Config[C]{} }

// Get is the configuration that the host has for the plugin.
func (c *Config[C]) Get() (*C, error) {
	if c.decoded == nil {
		decoded, err := plugin.Decode[C](configText())
		if err != nil {
			return nil, err
		}
		c.decoded = decoded
	}
	return c.decoded, nil
}
