package main

import (
	"bufio"
	"errors"
	"net"
	"testing"
	"time"

	"witlet.dev/plugin/v0_2/probe"
	"witlet.dev/plugin/v0_2/secret"
)

// target is a pod at these addresses.
type target struct {
	probe.Target
	addresses []string
}

type pod struct {
	probe.Pod
	addresses []string
}

func (t target) Pod() probe.Pod           { return pod{addresses: t.addresses} }
func (t target) Remaining() time.Duration { return time.Minute }
func (p pod) Addresses() []string         { return p.addresses }

// server answers each line with the next of these, and its port.
func server(t *testing.T, answers ...string) uint16 {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		client, err := listener.Accept()
		if err != nil {
			return
		}
		defer client.Close()
		reader := bufio.NewReader(client)
		for _, answer := range answers {
			if _, err := reader.ReadString('\n'); err != nil {
				return
			}
			_, _ = client.Write([]byte(answer))
		}
	}()
	return uint16(listener.Addr().(*net.TCPAddr).Port)
}

func TestTheAnswerDecides(t *testing.T) {
	for answer, want := range map[string]probe.Outcome{
		"+PONG\r\n":                     probe.Success(""),
		"-LOADING Redis is loading\r\n": probe.Failure("LOADING Redis is loading"),
		"+OK\r\n":                       probe.Failure(`it answers "+OK"`),
	} {
		port := server(t, answer)
		outcome, err := redis{}.Probe(target{addresses: []string{"127.0.0.1"}}, &parameters{Port: &port})
		if err != nil || outcome.Found != want.Found || outcome.Message != want.Message {
			t.Errorf("%q: %+v, %v", answer, outcome, err)
		}
		if (outcome.Latency > 0) != (want.Found == "success") {
			t.Errorf("%q took %v", answer, outcome.Latency)
		}
	}
}

func TestASlowServerPassesWithAWarning(t *testing.T) {
	port, slow := server(t, "+PONG\r\n"), int64(0)
	outcome, err := redis{}.Probe(target{addresses: []string{"127.0.0.1"}}, &parameters{Port: &port, SlowAfterMilliseconds: &slow})
	if err != nil || len(outcome.Warnings) != 1 || outcome.Warnings[0] != "PING took 0 ms or more" {
		t.Errorf("%+v, %v", outcome, err)
	}
}

func TestAPasswordIsSentFirst(t *testing.T) {
	secret.Values["redis-password"] = []byte("s3cret\n")
	defer delete(secret.Values, "redis-password")
	name, port := "redis-password", server(t, "+OK\r\n", "+PONG\r\n")
	outcome, err := redis{PasswordSecret: &name}.Probe(target{addresses: []string{"127.0.0.1"}}, &parameters{Port: &port})
	if err != nil || outcome.Found != "success" {
		t.Errorf("%+v, %v", outcome, err)
	}
}

func TestWhatIsWrongWithTheProbeIsAnErrorWithACode(t *testing.T) {
	empty, other, zero := "", "other", uint16(0)
	_, noAddress := redis{}.Probe(target{}, &parameters{})
	_, noSecret := redis{PasswordSecret: &other}.Probe(target{}, &parameters{})
	for code, err := range map[string]error{
		"NoAddress":            noAddress,
		"NotFound":             noSecret,
		"InvalidParameters":    redis{}.CheckParameters(&parameters{Port: &zero}, nil),
		"InvalidConfiguration": redis{PasswordSecret: &empty}.Validate(nil),
	} {
		if of := (*probe.Error)(nil); !errors.As(err, &of) || of.Code != code {
			t.Errorf("%s: %v", code, err)
		}
	}
}
