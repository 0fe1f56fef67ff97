package main

import (
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"witlet.dev/plugin/v0_2/admission"
)

// huge is an answer far beyond what a host takes at once, in bytes.
const huge = 8 << 20

// attack does to the host what the configuration names (`{do: attack, attack: NAME}`). Few attacks return.
func attack(name string) admission.Verdict {
	switch name {
	case "spin":
		for {
		}
	case "grow":
		for kept := [][]byte{}; ; {
			kept = append(kept, make([]byte, 1<<20))
		}
	case "recurse":
		return admission.Reject("Recursed", "%d", recurse(1<<30))
	case "crash":
		panic("a crash of the plugin's own")
	case "exit":
		os.Exit(1)
	case "sleep":
		time.Sleep(24 * time.Hour)
	case "log-forever":
		for {
			slog.Error("spam", "language", "go")
		}
	case "print-forever":
		for {
			fmt.Println("spam")
		}
	case "huge-answer":
		return admission.Reject("Huge", "%s", strings.Repeat("x", huge))
	}
	return admission.Reject("Unknown", "%s", name)
}

func recurse(depth int) int {
	if depth == 0 {
		return 0
	}
	return recurse(depth-1) + 1
}
