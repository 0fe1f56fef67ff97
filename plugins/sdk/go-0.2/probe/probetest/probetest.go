// Package probetest makes targets of plain data in the host's place, so that probe types of contract 0.2 can be asked by ordinary unit tests.
package probetest

import (
	"slices"
	"time"

	"witlet.dev/plugin/v0_2/admission"
	"witlet.dev/plugin/v0_2/admission/admissiontest"
	"witlet.dev/plugin/v0_2/probe"
)

// A Target is a container in plain data. Its zero value is one of a pod without addresses, with ten seconds.
type Target struct {
	// Pod is the pod's manifest, a JSON text.
	Pod string
	// Container is the name of the container; the manifest's first one if it is empty.
	Container string
	// ID is that of the instance, Restarts how often it was restarted.
	ID       string
	Restarts uint32
	// Addresses are the pod's, the primary one first, HostAddresses the node's.
	Addresses, HostAddresses []string
	// Kind is readiness if it is empty.
	Kind string
	// Timeout is how long the probe has altogether, 10 s if it is 0.
	Timeout time.Duration
	// Remaining is how long it still has, all of it if it is 0; it doesn't get less by itself.
	Remaining time.Duration
	// Commands are what can be run.
	Commands []Command
}

// A Command is what comes of a command in the container.
type Command struct {
	Command []string
	Ended   probe.Ended
	// Err is why it can't be run, such as a *probe.Error with the code TimedOut.
	Err error
}

// Target is the target as a probe type takes it.
func (t Target) Target() probe.Target { return target{t} }

type target struct{ of Target }

func (t target) manifest() admission.Pod { return admissiontest.PodOf(t.of.Pod) }
func (t target) Pod() probe.Pod          { return pod{t.manifest(), t.of} }

func (t target) Container() probe.Container {
	for _, of := range t.manifest().Containers() {
		if of.Name() == t.of.Container || t.of.Container == "" && of.Kind() == "app" {
			return container{of, t.of}
		}
	}
	return container{nil, t.of}
}

func (t target) Kind() string {
	if t.of.Kind == "" {
		return "readiness"
	}
	return t.of.Kind
}

func (t target) Timeout() time.Duration {
	if t.of.Timeout == 0 {
		return 10 * time.Second
	}
	return t.of.Timeout
}

func (t target) Remaining() time.Duration {
	if t.of.Remaining == 0 {
		return t.Timeout()
	}
	return t.of.Remaining
}

// RunCommand is what probe.Run calls.
func (t target) RunCommand(command []string) (probe.Ended, error) {
	for _, known := range t.of.Commands {
		if slices.Equal(known.Command, command) {
			return known.Ended, known.Err
		}
	}
	return probe.Ended{}, &probe.Error{Code: "Failed", Message: "the command isn't among the target's Commands"}
}

// pod has what an admission handler is given of a manifest, too.
type pod struct {
	admission.Pod
	of Target
}

func (p pod) Addresses() []string     { return p.of.Addresses }
func (p pod) HostAddresses() []string { return p.of.HostAddresses }

// container is nil inside where the manifest doesn't have it.
type container struct {
	manifest admission.Container
	of       Target
}

func (c container) ID() string       { return c.of.ID }
func (c container) Restarts() uint32 { return c.of.Restarts }

func (c container) Name() string {
	if c.manifest == nil {
		return c.of.Container
	}
	return c.manifest.Name()
}

func (c container) Image() string {
	if c.manifest == nil {
		return ""
	}
	return c.manifest.Image().Reference()
}

func (c container) Ports() (all []probe.Port) {
	if c.manifest == nil {
		return nil
	}
	for _, port := range c.manifest.Ports() {
		all = append(all, probe.Port{Name: port.Name(), Number: port.Number(), Protocol: port.Protocol()})
	}
	return all
}

func (c container) Port(name string) (uint16, bool) {
	for _, port := range c.Ports() {
		if port.Name == name && name != "" {
			return port.Number, true
		}
	}
	return 0, false
}

func (c container) Pointer(path string) (string, bool) {
	if c.manifest == nil {
		return "", false
	}
	return c.manifest.Pointer(path)
}
