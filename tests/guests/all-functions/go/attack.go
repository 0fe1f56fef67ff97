package main

import (
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"witlet.dev/plugin/admission"
)

// huge is an answer far beyond what a host takes at once, in bytes.
const huge = 8 << 20

// attack does to the host what the configuration names (`answer: {attack: NAME}`). Few attacks return.
func attack(name string) (admission.Verdict, error) {
	switch name {
	case "spin":
		for {
		}
	case "grow":
		for kept := [][]byte{}; ; {
			kept = append(kept, make([]byte, 1<<20))
		}
	case "recurse":
		return admission.Reject{Reason: "Recursed", Message: fmt.Sprint(recurse(1 << 30))}, nil
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
		return admission.Reject{Reason: "Huge", Message: strings.Repeat("x", huge)}, nil
	}
	return nil, fmt.Errorf("unknown attack %s", name)
}

func recurse(depth int) int {
	if depth == 0 {
		return 0
	}
	return recurse(depth-1) + 1
}
