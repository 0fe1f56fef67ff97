//go:build !wasip1

package exec

import (
	"fmt"

	"witlet.dev/plugin/probe"
)

// Outside a component the target says what comes of a command: see package probetest.
func run(target probe.Target, command []string) (Result, error) {
	if target, ok := target.(interface {
		Run(command []string) (Result, error)
	}); ok {
		return target.Run(command)
	}
	return Result{}, fmt.Errorf("%q can't be run: the target has no container", command)
}
