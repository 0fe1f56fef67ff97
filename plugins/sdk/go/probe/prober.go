// Package probe is for probe types: plugins that check whether a container does what it should. The contract is witlet:probe@0.1.0.
//
// A probe type is a type with the methods of [Prober], and a component's program is
//
//	func init() { probe.Export(prober{}) }
//
//	func main() {}
//
// main isn't run: the host calls the prober. Connections are made by package [witlet.dev/plugin/tcp], commands in the container are run by
// package [witlet.dev/plugin/exec].
package probe

import (
	"errors"

	"witlet.dev/plugin"
	"witlet.dev/plugin/internal/host"
)

// A Prober probes containers. C is what stands under config: in the plugin's entry and P under parameters: of a probe, structs with tags of
// encoding/json; struct{} for a type that takes none, which then refuses any. A field that they don't have is refused by its name.
type Prober[C, P any] interface {
	// Validate is called when the plugin is loaded, with its configuration, which is C's zero value if there is none. An error refuses the
	// plugin, in its words.
	Validate(config *C) error
	// CheckParameters is asked before the first probe with these parameters, which are P's zero value if there are none. Variables are
	// expanded in them, and names of ports are numbers already. An error fails each probe that has them, in its words.
	CheckParameters(parameters *P, config *C) error
	// Probe probes once, within target.Remaining. Whatever the probed process does wrong is a Failure. An error means that nothing was
	// found out: the probe is tried again up to two times, and then its result stays what it was.
	Probe(target Target, parameters *P, config *C) (Outcome, error)
}

// Export makes a prober what the host asks. Call it in an init function, once.
func Export[C, P any](prober Prober[C, P]) {
	config := host.NewConfig[C]()
	both := func(text string) (*P, *C, error) {
		config, err := config.Get()
		if err != nil {
			return nil, nil, err
		}
		parameters, err := plugin.Decode[P](text)
		return parameters, config, err
	}
	exported = calls{
		validate: func(text string) error {
			config, err := plugin.Decode[C](text)
			if err != nil {
				return err
			}
			return prober.Validate(config)
		},
		checkParameters: func(text string) error {
			parameters, config, err := both(text)
			if err != nil {
				return err
			}
			return prober.CheckParameters(parameters, config)
		},
		probe: func(target Target, text string) (Outcome, error) {
			parameters, config, err := both(text)
			if err != nil {
				return nil, err
			}
			outcome, err := prober.Probe(target, parameters, config)
			if outcome == nil && err == nil {
				return nil, errors.New("the prober returned neither an outcome nor an error")
			}
			return outcome, err
		},
	}
}

// calls are a prober's methods without its types.
type calls struct {
	validate        func(text string) error
	checkParameters func(text string) error
	probe           func(target Target, parameters string) (Outcome, error)
}

var errNone = errors.New("no prober is there: call probe.Export in an init function")

var exported = calls{
	validate:        func(string) error { return errNone },
	checkParameters: func(string) error { return errNone },
	probe:           func(Target, string) (Outcome, error) { return nil, errNone },
}
