package probetest

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"witlet.dev/plugin/v0_2/probe"
)

const manifest = `{"metadata": {"name": "web", "labels": {"app": "shop"}}, "spec": {
	"initContainers": [{"name": "setup", "image": "setup:1"}],
	"containers": [
		{"name": "app", "image": "web:1", "ports": [{"name": "http", "containerPort": 8080}, {"containerPort": 53, "protocol": "UDP"}]},
		{"name": "proxy", "image": "proxy:1"}
	]}}`

func TestATargetHasWhatATestSays(t *testing.T) {
	target := Target{Pod: manifest, ID: "0123", Restarts: 3, Addresses: []string{"10.0.0.7", "fd00::7"}}.Target()
	pod, container := target.Pod(), target.Container()
	label, _ := pod.Label("app")
	port, _ := container.Port("http")
	_, hasNameless := container.Port("")
	image, _ := container.Pointer("/image")
	address, err := probe.Address(target)
	found := []any{pod.Name(), label, container.Name(), container.Image(), image, container.ID(), container.Restarts(), port, hasNameless,
		container.Ports()[1], address, err, target.Kind(), target.Timeout(), target.Remaining()}
	want := []any{"web", "shop", "app", "web:1", `"web:1"`, "0123", uint32(3), uint16(8080), false,
		probe.Port{Number: 53, Protocol: "UDP"}, "10.0.0.7", nil, "readiness", 10 * time.Second, 10 * time.Second}
	if !reflect.DeepEqual(found, want) {
		t.Errorf("%v, expected %v", found, want)
	}
	if other := (Target{Pod: manifest, Container: "proxy"}).Target().Container(); other.Image() != "proxy:1" || len(other.Ports()) != 0 {
		t.Errorf("%v", other)
	}
}

func TestTheZeroValueHasNothing(t *testing.T) {
	target := Target{}.Target()
	container := target.Container()
	_, isThere := container.Pointer("")
	if container.Name() != "" || container.Image() != "" || len(container.Ports()) != 0 || isThere || len(target.Pod().HostAddresses()) != 0 {
		t.Errorf("%v", container)
	}
	if _, err := probe.Address(target); err == nil {
		t.Error("it has no address")
	}
}

func TestCommandsEndAsATestSays(t *testing.T) {
	target := Target{Commands: []Command{
		{Command: []string{"cat", "/etc/name"}, Ended: probe.Ended{ExitCode: 3, Output: []byte("web")}},
		{Command: []string{"sleep"}, Err: &probe.Error{Code: "TimedOut"}},
	}}.Target()
	if ended, err := probe.Run(target, "cat", "/etc/name"); ended.ExitCode != 3 || err != nil {
		t.Errorf("%v, %v", ended, err)
	}
	for command, code := range map[string]string{"sleep": "TimedOut", "unknown": "Failed"} {
		_, err := probe.Run(target, command)
		if of := (*probe.Error)(nil); !errors.As(err, &of) || of.Code != code {
			t.Errorf("%s: %v", command, err)
		}
	}
}
