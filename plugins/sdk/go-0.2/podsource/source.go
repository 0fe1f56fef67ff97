// Package podsource is for pod sources of contract 0.2, witlet:pod-source@0.2.0.
//
// A source is a type that is decoded from the plugin's configuration, and a component's program is
//
//	type folder struct {
//		Folder string `json:"folder"`
//	}
//
//	func (f folder) Poll(cursor string) (podsource.Poll, error) {
//		…
//		return podsource.All(manifests).At(podsource.Fingerprint(manifests...)), nil
//	}
//
//	func init() { podsource.Export[folder]() }
//
//	func main() {}
//
// main isn't run: the host calls the source. Files are those of package os, in the folders that the plugin is granted. A source that also
// wants to know how its pods are imports package [witlet.dev/plugin/v0_2/podsource/feedback].
package podsource

import (
	"errors"
	"fmt"
	"hash/fnv"
	"time"

	"witlet.dev/plugin"
	"witlet.dev/plugin/v0_2/internal/contract"
)

// A Source has pods. Its fields are those of config:, with tags of encoding/json; what it has no field for is refused by name.
type Source interface {
	// Poll is all that the source has now. cursor is what the last successful poll said, empty at the first one. It may wait for news within
	// the plugin's timeout. An error leaves the last pods as they are: a source that can't read must err, because no pods means that everything was
	// deleted on purpose.
	Poll(cursor string) (Poll, error)
}

// A Validator says whether it can work with its configuration. An error refuses the plugin, in its words.
type Validator interface {
	Validate(warn func(message string)) error
}

// A Poll is the answer to a poll. Made by the functions below; the zero value says nothing, which the host takes for a bad answer.
type Poll struct {
	// Snapshot is pods, empty or unchanged.
	Snapshot string
	// Manifests are the pods, as JSON or YAML text each.
	Manifests []string
	// Cursor is handed to the next poll, also after a restart of the agent if the source has a state folder; at most 4 KiB. Empty for none.
	Cursor string
	// NextPoll is when the source wants to be asked again, in whole milliseconds; 0 leaves it to the configured interval.
	NextPoll time.Duration
}

// All are these pods and no others; none is Empty.
func All(manifests []string) Poll {
	if len(manifests) == 0 {
		return Empty()
	}
	return Poll{Snapshot: "pods", Manifests: manifests}
}

// Empty is no pods: all pods of the source end.
func Empty() Poll { return Poll{Snapshot: "empty"} }

// Unchanged is the same as at the last poll that gave pods or none.
func Unchanged() Poll { return Poll{Snapshot: "unchanged"} }

// At is the answer with a cursor.
func (p Poll) At(cursor string) Poll {
	p.Cursor = cursor
	return p
}

// After is the answer with when to ask again: the host waits 100 milliseconds at least and an hour at most.
func (p Poll) After(wait time.Duration) Poll {
	p.NextPoll = wait
	return p
}

// An Error is why a source can't tell what it has, or why a configuration is refused. Its code is the reason of the event. Another error has
// the code Failed.
type Error = contract.Error

// Errorf is an error with a code.
func Errorf(code, format string, arguments ...any) error {
	return &Error{Code: code, Message: fmt.Sprintf(format, arguments...)}
}

// Invalid is the error of a field of the configuration that makes no sense to the source.
func Invalid(field, problem string) error { return contract.Invalid(field, problem) }

// Fingerprint is a short text that changes with its parts, their number and their order: a cursor for a source whose place to check has no
// version of its own. It is the same in every instance, and detects changes that happen, not those that are made in order not to be seen.
func Fingerprint[T ~string | ~[]byte](parts ...T) string {
	hash := fnv.New64a()
	for _, part := range parts {
		// Lengths keep parts apart.
		length := uint64(len(part))
		for shift := 0; shift < 64; shift += 8 {
			_, _ = hash.Write([]byte{byte(length >> shift)})
		}
		_, _ = hash.Write([]byte(part))
	}
	return fmt.Sprintf("%016x", hash.Sum64())
}

// Decode makes a source of its configuration, a JSON text.
func Decode[S Source](config string) (S, error) {
	made, err := plugin.Decode[S](config)
	if err != nil {
		var none S
		return none, &Error{Code: contract.InvalidConfiguration, Message: err.Error()}
	}
	return *made, nil
}

// Load has a source check its configuration, as the host does when the plugin is loaded.
func Load(source Source, warn func(message string)) error {
	if validator, ok := source.(Validator); ok {
		return validator.Validate(warn)
	}
	return nil
}

// Export makes a source what the host asks. Call it in an init function, once.
func Export[S Source]() {
	contract.Exported = func(config string) (any, error) { return Decode[S](config) }
}

// exported is the source of a configuration.
func exported(config string) (Source, error) {
	if contract.Exported == nil {
		return nil, errors.New("no source is there: call podsource.Export in an init function")
	}
	made, err := contract.Exported(config)
	if err != nil {
		return nil, err
	}
	return made.(Source), nil
}
