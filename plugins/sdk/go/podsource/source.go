// Package podsource is for pod sources: plugins that say which pods should run. The contract is witlet:pod-source@0.1.0.
//
// A source is a type with the methods of [Source], and a component's program is
//
//	func init() { podsource.Export(source{}) }
//
//	func main() {}
//
// main isn't run: the host calls the source. Files are those of package os, in the folders that the plugin is granted. A source that also
// wants the statuses of its pods imports package [witlet.dev/plugin/podsource/feedback].
package podsource

import (
	"errors"
	"fmt"
	"hash/fnv"
	"time"

	"witlet.dev/plugin"
	"witlet.dev/plugin/internal/host"
)

// A Source has pods. C is what stands under config: in the plugin's entry, a struct with tags of encoding/json; struct{} for a source
// without configuration, which then refuses any. A field that C doesn't have is refused by its name.
type Source[C any] interface {
	// Validate is called when the plugin is loaded, with its configuration, which is C's zero value if there is none. An error refuses the
	// plugin, in its words.
	Validate(config *C) error
	// Poll is all that the source has now. cursor is what the last successful poll returned, empty at the first one. It may wait for news
	// within the plugin's timeout. An error, of type *Error if it has a reason of its own, leaves the last pods as they are: a source that
	// can't read must err, because Empty means that everything was deleted on purpose.
	Poll(cursor string, config *C) (Poll, error)
}

// A Poll is the answer to a poll.
type Poll struct {
	Snapshot Snapshot
	// Cursor is handed to the next poll, also after a restart of the agent if the source has a state folder; at most 4 KiB. Empty for none.
	Cursor string
	// NextPoll is when the source wants to be asked again, in whole milliseconds; 0 leaves it to the configured interval. The host waits 100
	// milliseconds at least and an hour at most.
	NextPoll time.Duration
}

// A Snapshot is what a source has, all of it: [Pods], [Empty] or [Unchanged].
type Snapshot interface{ isSnapshot() }

type (
	// Pods are these and no others: manifests as JSON or YAML text, one pod each; not empty.
	Pods []string
	// Empty is no pods: all pods of the source end.
	Empty struct{}
	// Unchanged is the same as at the last poll that gave Pods or Empty.
	Unchanged struct{}
)

func (Pods) isSnapshot()      {}
func (Empty) isSnapshot()     {}
func (Unchanged) isSnapshot() {}

// All is Pods, or Empty if there are none.
func All(manifests []string) Snapshot {
	if len(manifests) == 0 {
		return Empty{}
	}
	return Pods(manifests)
}

// An Error is why a source can't tell what it has.
type Error struct {
	// Reason is a CamelCase word for the event: letters and digits, a letter first, at most 128. Unavailable, Denied and Invalid are used by
	// the shipped sources; an error of another type is Unavailable.
	Reason string
	// Message is one sentence for people; cut at 4 KiB.
	Message string
	// RetryAfter is when the source wants to be asked again, in whole milliseconds; 0 leaves it to the host's back-off.
	RetryAfter time.Duration
}

// Error is the message.
func (e *Error) Error() string { return e.Message }

// Errorf is an error with a reason.
func Errorf(reason, format string, arguments ...any) error {
	return &Error{Reason: reason, Message: fmt.Sprintf(format, arguments...)}
}

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

// Export makes a source what the host asks. Call it in an init function, once.
func Export[C any](source Source[C]) {
	config := host.NewConfig[C]()
	exported = calls{
		validate: func(text string) error {
			config, err := plugin.Decode[C](text)
			if err != nil {
				return err
			}
			return source.Validate(config)
		},
		poll: func(cursor string) (Poll, error) {
			config, err := config.Get()
			if err != nil {
				return Poll{}, err
			}
			poll, err := source.Poll(cursor, config)
			if poll.Snapshot == nil && err == nil {
				return Poll{}, errors.New("the source returned neither a snapshot nor an error")
			}
			return poll, err
		},
	}
}

// calls are a source's methods without its type of configuration.
type calls struct {
	validate func(text string) error
	poll     func(cursor string) (Poll, error)
}

var errNone = errors.New("no source is there: call podsource.Export in an init function")

var exported = calls{
	validate: func(string) error { return errNone },
	poll:     func(string) (Poll, error) { return Poll{}, errNone },
}
