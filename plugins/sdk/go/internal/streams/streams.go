// Package streams has the streams of wasi:io, and waits for them.
package streams

import "errors"

var (
	// ErrTimedOut: the deadline was over.
	ErrTimedOut = errors.New("i/o timeout")
	// ErrClosed: the other side has sent everything, or takes nothing any more.
	ErrClosed = errors.New("the stream is closed")
)

// A Failure is an operation of a stream that the host could not carry out. Cause is a handle of wasi:io/error, which its receiver drops.
type Failure struct{ Cause uint32 }

// Error says so.
func (Failure) Error() string { return "the stream failed" }
