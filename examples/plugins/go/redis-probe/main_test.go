package main

import (
	"bytes"
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"witlet.dev/plugin/probe"
	"witlet.dev/plugin/probe/probetest"
	"witlet.dev/plugin/secret"
	"witlet.dev/plugin/secret/secrettest"
)

var target = probetest.Target{PodIPs: []string{"127.0.0.1"}, Remaining: time.Minute}.Target()

// turn is a command that is expected and what is answered.
type turn struct{ command, answer string }

// talk is what comes of a server that has this dialog with a client, and closes.
func talk(t *testing.T, config config, dialog ...turn) probe.Outcome {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		for _, turn := range dialog {
			received := make([]byte, len(turn.command))
			if _, err := io.ReadFull(conn, received); err != nil || !bytes.Equal(received, []byte(turn.command)) {
				t.Errorf("%q instead of %q", received, turn.command)
			}
			_, _ = io.WriteString(conn, turn.answer)
		}
	}()
	port := netip.MustParseAddrPort(listener.Addr().String()).Port()
	outcome, err := prober{}.Probe(target, &parameters{Port: &port}, &config)
	listener.Close()
	<-done
	if err != nil {
		t.Error(err)
	}
	return outcome
}

func TestAnAnswerIsJudgedByItsFirstLine(t *testing.T) {
	for answer, want := range map[string]probe.Outcome{
		"+PONG\r\n":                            probe.Success("PONG"),
		"+PONG\r\n-ERR more\r\n":               probe.Success("PONG"),
		"+OK\r\n":                              probe.Failure(`unexpected answer "+OK"`),
		":1\r\n":                               probe.Failure(`unexpected answer ":1"`),
		"a\nb\r\n":                             probe.Failure("unexpected answer \"a\nb\""),
		"\xff\r\n":                             probe.Failure("unexpected answer \"\uFFFD\""),
		"-NOAUTH Authentication required.\r\n": probe.Failure("NOAUTH Authentication required."),
		"+PO":                                  probe.Failure("the server closed the connection before it answered"),
		"":                                     probe.Failure("the server closed the connection before it answered"),
		strings.Repeat("a", 1_022) + "\r\n":    probe.Failure(`unexpected answer "` + strings.Repeat("a", 1_022) + `"`),
		strings.Repeat("a", 1_023) + "\r\n":    probe.Failure("the answer is longer than 1024 bytes"),
		strings.Repeat("a\n", 1_000):           probe.Failure("the answer is longer than 1024 bytes"),
	} {
		if got := talk(t, config{}, turn{"PING\r\n", answer}); got != want {
			t.Errorf("%.40q: %v", answer, got)
		}
	}
}

func TestAPasswordGoesBeforePingWithoutItsLineEnd(t *testing.T) {
	name := "redis-password"
	const auth = "*2\r\n$4\r\nAUTH\r\n$8\r\ns3 cre\"t\r\n"
	for _, value := range []string{"s3 cre\"t", "s3 cre\"t\n", "s3 cre\"t\r\n"} {
		secrettest.Set(t, name, value)
		got := talk(t, config{&name}, turn{auth, "+OK\r\n"}, turn{"PING\r\n", "+PONG\r\n"})
		if got != probe.Success("PONG") {
			t.Errorf("%q: %v", value, got)
		}
	}
	if got := talk(t, config{&name}, turn{auth, "-WRONGPASS no\r\n"}); got != probe.Failure("WRONGPASS no") {
		t.Error(got)
	}
}

func TestASecretThatIsntThereIsAnErrorThatNamesIt(t *testing.T) {
	name := "lost-password"
	secrettest.SetError(t, name, secret.ErrNotFound)
	if _, err := (prober{}).Probe(target, &parameters{}, &config{&name}); err == nil || !strings.Contains(err.Error(), name) {
		t.Errorf("%v", err)
	}
}

func TestAServerThatIsntThereIsAFailure(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener.Close()
	port := netip.MustParseAddrPort(listener.Addr().String()).Port()
	got, err := prober{}.Probe(target, &parameters{&port}, &config{})
	if failure, ok := got.(probe.Failure); !ok || !strings.Contains(string(failure), "refused") || err != nil {
		t.Errorf("%v, %v", got, err)
	}
	got, err = prober{}.Probe(probetest.Target{}.Target(), &parameters{}, &config{})
	if got != probe.Failure("the pod has no address") || err != nil {
		t.Errorf("%v, %v", got, err)
	}
}

func TestWhatMakesNoSenseIsRefusedByItsName(t *testing.T) {
	empty, zero := "", uint16(0)
	if err := (prober{}).Validate(&config{&empty}); err == nil || err.Error() != "passwordSecret: may not be empty" {
		t.Error(err)
	}
	if err := (prober{}).CheckParameters(&parameters{&zero}, &config{}); err == nil || err.Error() != "port: may not be 0" {
		t.Error(err)
	}
}
