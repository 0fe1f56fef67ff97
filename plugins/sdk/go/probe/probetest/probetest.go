// Package probetest makes targets of plain data, so that probe types can be asked by ordinary unit tests.
package probetest

import (
	"fmt"
	"slices"
	"time"

	"witlet.dev/plugin/exec"
	"witlet.dev/plugin/internal/pointer"
	"witlet.dev/plugin/probe"
)

// A Target is a container in plain data. Its zero value is one of a pod without addresses, with ten seconds.
type Target struct {
	Pod probe.PodRef
	// Manifest is what PodJSON and PodPointer read.
	Manifest    string
	Container   string
	ContainerID string
	Restarts    uint32
	PodIPs      []string
	HostIPs     []string
	NamedPorts  []probe.NamedPort
	Kind        probe.Kind
	// Remaining is how long the probe may take, 10 s if it is 0; it doesn't get less by itself.
	Remaining time.Duration
	// Commands are what can be run.
	Commands []Command
}

// A Command is what comes of a command in the container.
type Command struct {
	Command []string
	Result  exec.Result
	// Err is why it can't be run, or exec.ErrTimedOut.
	Err error
}

// Target is the target as a prober takes it.
func (t Target) Target() probe.Target { return target{t} }

type target struct{ facts Target }

func (t target) Pod() probe.PodRef             { return t.facts.Pod }
func (t target) PodJSON() string               { return t.facts.Manifest }
func (t target) Container() string             { return t.facts.Container }
func (t target) ContainerID() string           { return t.facts.ContainerID }
func (t target) Restarts() uint32              { return t.facts.Restarts }
func (t target) PodIPs() []string              { return t.facts.PodIPs }
func (t target) HostIPs() []string             { return t.facts.HostIPs }
func (t target) NamedPorts() []probe.NamedPort { return t.facts.NamedPorts }
func (t target) Kind() probe.Kind              { return t.facts.Kind }

func (t target) PodPointer(path string) (string, bool) { return pointer.Lookup(t.facts.Manifest, path) }

func (t target) Remaining() time.Duration {
	if t.facts.Remaining == 0 {
		return 10 * time.Second
	}
	return t.facts.Remaining
}

// Run is what package exec asks.
func (t target) Run(command []string) (exec.Result, error) {
	for _, known := range t.facts.Commands {
		if slices.Equal(known.Command, command) {
			return known.Result, known.Err
		}
	}
	return exec.Result{}, fmt.Errorf("%q isn't among the target's commands", command)
}
