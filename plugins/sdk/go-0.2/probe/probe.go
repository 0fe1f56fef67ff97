// Package probe is for probe types of contract 0.2, witlet:probe@0.2.0.
//
// A probe type is a type that is decoded from the plugin's configuration, and a component's program is
//
//	type greets struct{}
//
//	func (greets) Probe(target probe.Target, parameters *parameters) (probe.Outcome, error) {
//		…
//		return probe.Success(""), nil
//	}
//
//	func init() { probe.Export[greets, parameters]() }
//
//	func main() {}
//
// main isn't run: the host calls the probe type. What a call is given is valid until it ends. Connections are made by package
// [witlet.dev/plugin/tcp].
package probe

import (
	"errors"
	"time"

	"witlet.dev/plugin"
	"witlet.dev/plugin/v0_2/internal/contract"
)

// A Type probes containers. P is what stands under parameters: of a probe, a struct with tags of encoding/json. The fields of the type are
// those of config:. What either has no field for is refused by name.
type Type[P any] interface {
	// Probe probes once, within target.Remaining. An error takes the place of an outcome: nothing was found out.
	Probe(target Target, parameters *P) (Outcome, error)
}

// A Validator says whether it can work with its configuration. An error refuses the plugin, in its words.
type Validator interface {
	Validate(warn func(message string)) error
}

// A Checker says whether a probe with these parameters makes sense. An error fails each probe that has them.
type Checker[P any] interface {
	CheckParameters(parameters *P, warn func(message string)) error
}

// An Outcome is what a probe found, and what is said in addition. Made by the functions below.
type Outcome struct {
	// Found is success, failure or unknown.
	Found   string
	Message string
	// Warnings are sentences for the pod's owner. The host keeps 16.
	Warnings []string
	// Annotations are for those who check the call later. The last value of a key counts.
	Annotations [][2]string
	// Latency is how long the probed thing took to answer; 0 if it isn't said.
	Latency time.Duration
}

// Success: it passes. The message may be empty.
func Success(message string) Outcome { return Outcome{Found: "success", Message: message} }

// Failure: it fails, and why.
func Failure(message string) Outcome { return Outcome{Found: "failure", Message: message} }

// Unknown: nothing was found out, and why. The probe is tried again, and then its result stays what it was.
func Unknown(message string) Outcome { return Outcome{Found: "unknown", Message: message} }

// Warn is the outcome with a warning.
func (o Outcome) Warn(message string) Outcome {
	o.Warnings = append(o.Warnings, message)
	return o
}

// Annotate is the outcome with something for later.
func (o Outcome) Annotate(key, value string) Outcome {
	o.Annotations = append(o.Annotations, [2]string{key, value})
	return o
}

// Took is the outcome with a latency.
func (o Outcome) Took(latency time.Duration) Outcome {
	o.Latency = latency
	return o
}

// An Error is why nothing was found out, or why a configuration is refused. Another error has the code Failed.
type Error = contract.Error

// Invalid is the error of a field of the configuration that makes no sense to the probe type.
func Invalid(field, problem string) error { return contract.Invalid(field, problem) }

// A Target is the container that is probed.
type Target interface {
	Pod() Pod
	Container() Container
	// Kind is startup, readiness or liveness; more may come.
	Kind() string
	// Timeout is how long the probe has altogether, Remaining how long it still has.
	Timeout() time.Duration
	Remaining() time.Duration
}

// A Pod is the pod that is probed.
type Pod interface {
	Namespace() string
	Name() string
	UID() string
	Label(key string) (string, bool)
	Labels() map[string]string
	Annotation(key string) (string, bool)
	Annotations() map[string]string
	// Addresses has the primary one first; it is empty while the pod has none.
	Addresses() []string
	HostAddresses() []string
	HostNetwork() bool
	JSON() string
	// Pointer is the JSON text at a JSON pointer (RFC 6901).
	Pointer(path string) (string, bool)
}

// A Container is the container that is probed.
type Container interface {
	Name() string
	ID() string
	Restarts() uint32
	Image() string
	Ports() []Port
	// Port is the number of the port with this name.
	Port(name string) (uint16, bool)
	Pointer(path string) (string, bool)
}

// A Port is a port of the container. Protocol is TCP, UDP or SCTP.
type Port struct {
	Name     string
	Number   uint16
	Protocol string
}

// Address is the pod's primary address.
func Address(target Target) (string, error) {
	if addresses := target.Pod().Addresses(); len(addresses) > 0 {
		return addresses[0], nil
	}
	return "", &Error{Code: "NoAddress", Message: "the pod has no address (yet)"}
}

// Deadline is when the probe's time is over.
func Deadline(target Target) time.Time { return time.Now().Add(target.Remaining()) }

// calls are a probe type's methods without its types.
type calls struct {
	validate        func(config string, warn func(string)) error
	checkParameters func(config, parameters string, warn func(string)) error
	probe           func(config string, target Target, parameters string) (Outcome, error)
}

var errNone = errors.New("no probe type is there: call probe.Export in an init function")

var exported = calls{
	validate:        func(string, func(string)) error { return errNone },
	checkParameters: func(string, string, func(string)) error { return errNone },
	probe:           func(string, Target, string) (Outcome, error) { return Outcome{}, errNone },
}

// Export makes a probe type what the host asks. Call it in an init function, once.
func Export[T Type[P], P any]() {
	both := func(config, text string) (*T, *P, error) {
		made, err := decoded[T](config, contract.InvalidConfiguration)
		if err != nil {
			return nil, nil, err
		}
		parameters, err := decoded[P](text, "InvalidParameters")
		return made, parameters, err
	}
	exported = calls{
		validate: func(config string, warn func(string)) error {
			made, err := decoded[T](config, contract.InvalidConfiguration)
			if err != nil {
				return err
			}
			if validator, ok := any(*made).(Validator); ok {
				return validator.Validate(warn)
			}
			return nil
		},
		checkParameters: func(config, text string, warn func(string)) error {
			made, parameters, err := both(config, text)
			if err != nil {
				return err
			}
			if checker, ok := any(*made).(Checker[P]); ok {
				return checker.CheckParameters(parameters, warn)
			}
			return nil
		},
		probe: func(config string, target Target, text string) (Outcome, error) {
			made, parameters, err := both(config, text)
			if err != nil {
				return Outcome{}, err
			}
			return (*made).Probe(target, parameters)
		},
	}
}

func decoded[T any](text, code string) (*T, error) {
	value, err := plugin.Decode[T](text)
	if err != nil {
		return nil, &Error{Code: code, Message: err.Error()}
	}
	return value, nil
}
