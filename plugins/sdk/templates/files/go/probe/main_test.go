package main

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"witlet.dev/plugin/v0_2/probe"
	"witlet.dev/plugin/v0_2/probe/probetest"
)

// ask is what comes of a server that says this and closes.
func ask(t *testing.T, greeting string) (probe.Outcome, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() {
		if conn, err := listener.Accept(); err == nil {
			defer conn.Close()
			_, _ = io.WriteString(conn, greeting)
		}
	}()
	return askPort(netip.MustParseAddrPort(listener.Addr().String()).Port())
}

func askPort(port uint16) (probe.Outcome, error) {
	target := probetest.Target{Addresses: []string{"127.0.0.1"}, Timeout: time.Minute}.Target()
	return greets{}.Probe(target, &parameters{Port: port, Expect: "220 "})
}

func TestTheGreetingDecides(t *testing.T) {
	for greeting, want := range map[string]probe.Outcome{
		"220 ":           probe.Success(`it says "220 "`),
		"220 mail ready": probe.Success(`it says "220 "`),
		"554 ":           probe.Failure(`it says "554 ", not "220 "`),
		"22":             probe.Failure(`it says "22", not "220 "`),
		"":               probe.Failure(`it says "", not "220 "`),
	} {
		got, err := ask(t, greeting)
		if got.Found != want.Found || got.Message != want.Message || err != nil {
			t.Errorf("%q: %+v, %v", greeting, got, err)
		}
		if (got.Latency > 0) != (want.Found == "success") {
			t.Errorf("%q took %v", greeting, got.Latency)
		}
	}
}

func TestAPortWhereNoOneListensIsAFailure(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener.Close()
	got, err := askPort(netip.MustParseAddrPort(listener.Addr().String()).Port())
	if got.Found != "failure" || !strings.Contains(got.Message, "refused") || err != nil {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestAPodWithoutAnAddressIsAnError(t *testing.T) {
	_, err := greets{}.Probe(probetest.Target{}.Target(), &parameters{Port: 25, Expect: "220 "})
	if of := (*probe.Error)(nil); !errors.As(err, &of) || of.Code != "NoAddress" {
		t.Errorf("%v", err)
	}
}

func TestParametersThatMakeNoSenseAreRefused(t *testing.T) {
	for _, c := range []struct {
		parameters parameters
		words      string
	}{
		{parameters{Expect: "220 "}, "port: "},
		{parameters{Port: 25}, "expect: may not be empty"},
		{parameters{25, strings.Repeat("a", expectBytesMax+1)}, "expect: may not be longer than 1024 bytes"},
	} {
		if err := (greets{}).CheckParameters(&c.parameters, nil); err == nil || !strings.Contains(err.Error(), c.words) {
			t.Errorf("%s: %v", c.words, err)
		}
	}
}
