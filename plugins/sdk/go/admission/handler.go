// Package admission is for admission handlers: plugins that decide whether a pod may run on the node. The contract is
// witlet:admission@0.1.0.
//
// A handler is a type with the methods of [Handler], and a component's program is
//
//	func init() { admission.Export(handler{}) }
//
//	func main() {}
//
// main isn't run: the host calls the handler. A verdict must be a function of the request and the configuration. The host has all
// clocks stand still and gives no network, and a handler that waits for time to pass is ended.
package admission

import (
	"errors"

	"witlet.dev/plugin"
	"witlet.dev/plugin/internal/host"
)

// A Handler decides on pods. C is what stands under config: in the plugin's entry, a struct with tags of encoding/json; struct{} for a
// handler without configuration, which then refuses any. A field that C doesn't have is refused by its name.
type Handler[C any] interface {
	// Validate is called when the plugin is loaded, with its configuration, which is C's zero value if there is none. An error refuses the
	// plugin, in its words.
	Validate(config *C) error
	// Admit is the verdict on a pod. An error is answered by the plugin's failure policy, as a panic and a timeout are.
	Admit(request Request, config *C) (Verdict, error)
}

// Export makes a handler what the host asks. Call it in an init function, once.
func Export[C any](handler Handler[C]) {
	config := host.NewConfig[C]()
	exported = calls{
		validate: func(text string) error {
			config, err := plugin.Decode[C](text)
			if err != nil {
				return err
			}
			return handler.Validate(config)
		},
		admit: func(request Request) (Verdict, error) {
			config, err := config.Get()
			if err != nil {
				return nil, err
			}
			verdict, err := handler.Admit(request, config)
			if verdict == nil && err == nil {
				return nil, errors.New("the handler returned neither a verdict nor an error")
			}
			return verdict, err
		},
	}
}

// calls are a handler's methods without its type of configuration.
type calls struct {
	validate func(text string) error
	admit    func(request Request) (Verdict, error)
}

var errNone = errors.New("no handler is there: call admission.Export in an init function")

var exported = calls{
	validate: func(string) error { return errNone },
	admit:    func(Request) (Verdict, error) { return nil, errNone },
}
