// Package admission is for admission handlers of contract 0.2, witlet:admission@0.2.0.
//
// A handler is a type that is decoded from the plugin's configuration, and a component's program is
//
//	type pinned struct{}
//
//	func (pinned) Admit(request admission.Request) (admission.Verdict, error) {
//		for _, image := range request.Pod().Images() {
//			if _, ok := image.Digest(); !ok {
//				return admission.Reject("NotPinned", "%s has no digest", image), nil
//			}
//		}
//		return admission.Admit(), nil
//	}
//
//	func init() { admission.Export(admission.Made[pinned]) }
//
//	func main() {}
//
// main isn't run: the host calls the handler. What a call is given is valid until it ends. A verdict must be a function of the request
// and the configuration. Lines that are printed are in the node's log.
package admission

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"witlet.dev/plugin"
	"witlet.dev/plugin/v0_2/internal/contract"
)

// A Handler decides on pods. Its fields are those of config:, with tags of encoding/json; what it has no field for is refused by name.
type Handler interface {
	// Admit is the verdict on a pod. An error is answered by the plugin's failure policy, as a panic and a timeout are.
	Admit(request Request) (Verdict, error)
}

// A Subscriber says what it is asked about. Without, a handler is asked about all that brings containers or images: add, update and
// ephemeral.
type Subscriber interface{ Subscribes() []string }

// A Validator says whether it can work with its configuration. An error refuses the plugin, in its words.
type Validator interface{ Validate(setup Setup) error }

// A Maker makes a handler of its configuration, a JSON text.
type Maker func(config string) (Handler, error)

// Made makes a handler of its type.
func Made[H Handler](config string) (Handler, error) {
	handler, err := plugin.Decode[H](config)
	if err != nil {
		return nil, &Error{Code: contract.InvalidConfiguration, Message: err.Error()}
	}
	return *handler, nil
}

// OneOf makes one handler of many, which the field policy of the configuration picks by its name.
func OneOf(makers map[string]Maker) Maker {
	return func(config string) (Handler, error) {
		fields := make(map[string]json.RawMessage)
		if err := json.Unmarshal([]byte(config), &fields); err != nil {
			return nil, &Error{Code: contract.InvalidConfiguration, Message: "the configuration must be an object"}
		}
		var name string
		_ = json.Unmarshal(fields["policy"], &name)
		maker, ok := makers[name]
		if !ok {
			names := make([]string, 0, len(makers))
			for name := range makers {
				names = append(names, name)
			}
			slices.Sort(names)
			return nil, Invalid("policy", fmt.Sprintf("%q is none of %s", name, strings.Join(names, ", ")))
		}
		delete(fields, "policy")
		rest, err := json.Marshal(fields)
		if err != nil {
			return nil, err
		}
		return maker(string(rest))
	}
}

// Load says to the host what a handler is to be asked about, as the host has it done when the plugin is loaded.
func Load(handler Handler, setup Setup) error {
	operations := []string{"add", "update", "ephemeral"}
	if subscriber, ok := handler.(Subscriber); ok {
		operations = subscriber.Subscribes()
	}
	for _, operation := range operations {
		setup.Subscribe(operation)
	}
	if validator, ok := handler.(Validator); ok {
		return validator.Validate(setup)
	}
	return nil
}

// An Error is why there is no verdict, or why a configuration is refused. Another error has the code Failed.
type Error = contract.Error

// Invalid is the error of a field of the configuration that makes no sense to the handler.
func Invalid(field, problem string) error { return contract.Invalid(field, problem) }

// Export makes a handler what the host asks. Call it in an init function, once.
func Export(maker Maker) { exported = maker }

var exported Maker = func(string) (Handler, error) {
	return nil, errors.New("no handler is there: call admission.Export in an init function")
}
