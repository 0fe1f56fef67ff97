//go:build !wasip1

package probetest

import (
	"errors"
	"testing"
	"time"

	"witlet.dev/plugin/exec"
	"witlet.dev/plugin/probe"
)

func TestATargetHasWhatATestSays(t *testing.T) {
	target := Target{
		Manifest: `{"metadata": {"name": "web"}}`,
		Commands: []Command{
			{Command: []string{"cat", "/etc/name"}, Result: exec.Result{ExitCode: 3, Output: []byte("web")}},
			{Command: []string{"sleep"}, Err: exec.ErrTimedOut},
		},
	}.Target()
	if text, ok := target.PodPointer("/metadata/name"); text != `"web"` || !ok {
		t.Errorf("%s, %v", text, ok)
	}
	if _, err := probe.PodIP(target); !errors.Is(err, probe.ErrNoAddress) {
		t.Errorf("%v", err)
	}
	if ip, err := probe.PodIP(Target{PodIPs: []string{"10.0.0.7", "fd00::7"}}.Target()); ip != "10.0.0.7" || err != nil {
		t.Errorf("%s, %v", ip, err)
	}
	before := time.Now()
	deadline, after := probe.Deadline(target), time.Now()
	if deadline.Before(before.Add(10*time.Second)) || deadline.After(after.Add(10*time.Second)) {
		t.Errorf("%v", deadline)
	}
	if result, err := exec.Run(target, "cat", "/etc/name"); result.ExitCode != 3 || err != nil {
		t.Errorf("%v, %v", result, err)
	}
	if _, err := exec.Run(target, "sleep"); !errors.Is(err, exec.ErrTimedOut) {
		t.Errorf("%v", err)
	}
	if _, err := exec.Run(target, "unknown"); err == nil {
		t.Error("nothing else can be run")
	}
}
