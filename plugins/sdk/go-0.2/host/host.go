// Package host has what plugins of all roles learn from the host, in contract 0.2: the node that they run on, what the host has,
// and how much of the log is written. Lines of the log are those of log/slog.
package host

import "witlet.dev/plugin/v0_2/internal/contract"

// A Level is that of a line of the log.
type Level uint32

// The levels of the contract.
const (
	Trace Level = iota
	Debug
	Info
	Warn
	Error
)

// A Failure is an error with a code, as plugins and the host make them.
type Failure = contract.Error
