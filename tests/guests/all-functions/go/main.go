// A component that calls every function of the contracts and tells what it got: the host's golden vectors
// (host/conformance/vectors/host) say what that must be. Keys are the contracts' names.
package main

import (
	"encoding/json"
	"errors"

	"witlet.dev/plugin/admission"
	"witlet.dev/plugin/podsource"
	"witlet.dev/plugin/podsource/feedback"
	"witlet.dev/plugin/probe"
)

func init() {
	admission.Export(handler{})
	probe.Export(prober{})
	podsource.Export(source{})
	feedback.Export(source{})
}

func main() {}

// A setting is a configuration, or parameters: as they came, and what of them says what to do.
type setting struct {
	text json.RawMessage
	wishes
}

type wishes struct {
	Refuse   *string         `json:"refuse"`
	Pointers []string        `json:"pointers"`
	Answer   json.RawMessage `json:"answer"`
	// Of probes.
	Secret  *string  `json:"secret"`
	Command []string `json:"command"`
	// Of sources.
	Poll                 pollWish `json:"poll"`
	Cursor               string   `json:"cursor"`
	NextPollMilliseconds int64    `json:"nextPollMilliseconds"`
	TellStatuses         bool     `json:"tellStatuses"`
}

type pollWish struct {
	Pods  []json.RawMessage `json:"pods"`
	Empty bool              `json:"empty"`
	Error *struct {
		Reason, Message        string
		RetryAfterMilliseconds int64
	} `json:"error"`
}

// answerWish is an answer that isn't one word.
type answerWish struct {
	Error  *string
	Attack *string
	Defer  *struct {
		Reason, Message        string
		RetryAfterMilliseconds int64
	}
	Shortage []admission.Shortage
}

// UnmarshalJSON takes everything.
func (s *setting) UnmarshalJSON(text []byte) error {
	s.text = append(json.RawMessage(nil), text...)
	return json.Unmarshal(text, &s.wishes)
}

// refuse refuses what says so, in its words.
func (s *setting) refuse() error {
	if s.Refuse == nil {
		return nil
	}
	return errors.New(*s.Refuse)
}

// answer is the answer's word, or what it says at greater length.
func (s *setting) answer() (word string, wish answerWish) {
	if json.Unmarshal(s.Answer, &word) != nil {
		_ = json.Unmarshal(s.Answer, &wish)
	}
	return word, wish
}

// object is a JSON object.
type object map[string]any

// text is a value as JSON.
func text(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// pairs are a map's keys and values, by key.
func pairs(of map[string]string) [][2]string {
	list := make([][2]string, 0, len(of))
	for _, key := range sorted(of) {
		list = append(list, [2]string{key, of[key]})
	}
	return list
}

// pointers are the texts at paths, or null.
func pointers(paths []string, lookup func(path string) (string, bool)) object {
	found := object{}
	for _, path := range paths {
		if text, ok := lookup(path); ok {
			found[path] = text
		} else {
			found[path] = nil
		}
	}
	return found
}

// each is a list of objects, an empty one if there is nothing.
func each[T any](values []T, tell func(T) object) []object {
	list := make([]object, len(values))
	for i, value := range values {
		list[i] = tell(value)
	}
	return list
}
