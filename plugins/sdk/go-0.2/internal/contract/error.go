// Package contract has what the roles share of contract 0.2: errors that have a code, and what a call is lent.
package contract

import "errors"

// An Error is why a call has no answer, or why a configuration is refused. Another error has the code Failed.
type Error struct {
	// Code is a CamelCase word for programs.
	Code string
	// Message is a sentence for people.
	Message string
	// RetryAfterMilliseconds is when another try makes sense; 0 while nothing is known of it.
	RetryAfterMilliseconds uint64
	// Details are what else is known, at most 16. What the host's error has is asked for by Detail.
	Details map[string]string
	detail  func(key string) (string, bool)
}

// Detail is what is said under this key.
func (e *Error) Detail(key string) (string, bool) {
	if e.detail != nil {
		return e.detail(key)
	}
	value, ok := e.Details[key]
	return value, ok
}

// Error is the message.
func (e *Error) Error() string { return e.Message }

// InvalidConfiguration is the code of an error of the configuration.
const InvalidConfiguration = "InvalidConfiguration"

// Invalid is the error of a field of the configuration that makes no sense to the plugin.
func Invalid(field, problem string) error {
	return &Error{Code: InvalidConfiguration, Message: field + ": " + problem}
}

// AsError is an error of the contract's kind.
func AsError(err error) *Error {
	if of := (*Error)(nil); errors.As(err, &of) {
		return of
	}
	return &Error{Code: "Failed", Message: err.Error()}
}

// Exported makes the pod source of a component of its configuration; its feedback is the same type.
var Exported func(config string) (any, error)
