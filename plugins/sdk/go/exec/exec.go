// Package exec runs commands in the container that is probed. A component that imports it needs the grant exec, and a world that imports
// witlet:probe/exec@0.1.0.
package exec

import (
	"errors"

	"witlet.dev/plugin/probe"
)

// A Result is how a command ended.
type Result struct {
	ExitCode int32
	// Output is standard output and standard error, cut at 10 KiB.
	Output []byte
}

// ErrTimedOut: the command ran out of the probe's time, and was killed.
var ErrTimedOut = errors.New("the command timed out")

// Run runs a command in the target's container, without a shell, for as long as the probe has time left. An error other than
// ErrTimedOut has the runtime's words for why it couldn't run it.
func Run(target probe.Target, command ...string) (Result, error) { return run(target, command) }
