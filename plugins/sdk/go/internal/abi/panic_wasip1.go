package abi

import (
	"fmt"
	"os"
	"runtime/debug"
)

// Guard, deferred by each export, ends a call whose goroutine panics, after it has said why. Go's runtime would wait a moment before it
// prints anything, and in a handler nothing may wait.
func Guard() {
	if value := recover(); value != nil {
		_, _ = fmt.Fprintf(os.Stderr, "panic: %v\n\n%s", value, debug.Stack())
		trap()
	}
}
