//go:build !wasip1

package tcp

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// server is the port of one that reads what it expects of one client, says this, and closes.
func server(t *testing.T, expects, says string) uint16 {
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
		defer func() { _ = conn.Close() }()
		if _, err := io.ReadFull(conn, make([]byte, len(expects))); err == nil {
			_, _ = io.WriteString(conn, says)
		}
	}()
	t.Cleanup(func() {
		_ = listener.Close()
		<-done
	})
	return netip.MustParseAddrPort(listener.Addr().String()).Port()
}

// deaf is a port that no one else can take, and that refuses every client: its socket doesn't listen.
func deaf(t *testing.T) uint16 {
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(socket) })
	if err := syscall.Bind(socket, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	bound, err := syscall.Getsockname(socket)
	if err != nil {
		t.Fatal(err)
	}
	address, ok := bound.(*syscall.SockaddrInet4)
	if !ok {
		t.Fatalf("%T", bound)
	}
	return uint16(address.Port)
}

func TestWhatAServerSaysIsRead(t *testing.T) {
	deadline := time.Now().Add(time.Minute)
	for _, host := range []string{"127.0.0.1", "localhost"} {
		conn, err := Dial(host, server(t, "hi", "hello"), deadline)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Write([]byte("hi")); err != nil {
			t.Error(err)
		}
		if got, err := io.ReadAll(conn); string(got) != "hello" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
		_ = conn.Close()
		if _, err := conn.Read(make([]byte, 1)); err == nil || conn.Close() != nil {
			t.Errorf("it is closed: %v", err)
		}
	}
}

func TestWhatGoesWrongIsNamed(t *testing.T) {
	deadline := time.Now().Add(time.Minute)
	conn, err := Dial("127.0.0.1", server(t, "more than it gets", ""), deadline)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	conn.SetDeadline(time.Now())
	if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, ErrTimedOut) {
		t.Errorf("%v", err)
	}

	port := deaf(t)
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(int(port)))
	_, err = Dial("127.0.0.1", port, deadline)
	if want := "dial tcp " + address + ": connect: connection refused"; !errors.Is(err, ErrRefused) || err.Error() != want {
		t.Errorf("%v instead of %s", err, want)
	}
	if _, err := Dial("127.0.0.1", 1, time.Now()); !errors.Is(err, ErrTimedOut) {
		t.Errorf("%v", err)
	}
	if got := HostPort("fd00::7", 80); got != "[fd00::7]:80" {
		t.Error(got)
	}
}

func TestEachAddressHasItsTurn(t *testing.T) {
	addresses := []netip.Addr{netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2")}
	var asked []netip.Addr
	got, err := inTurn(addresses, time.Now().Add(time.Hour), func(address netip.Addr, deadline time.Time) (string, error) {
		asked = append(asked, address)
		if left := time.Until(deadline); len(asked) == 1 && left > 31*time.Minute {
			t.Errorf("the first one has %v", left)
		}
		if len(asked) == 1 {
			return "", ErrTimedOut
		}
		return address.String(), nil
	})
	if got != "10.0.0.2" || err != nil || len(asked) != 2 {
		t.Errorf("%s, %v, %v", got, err, asked)
	}
	if _, err := inTurn(nil, time.Now(), func(netip.Addr, time.Time) (int, error) { return 0, nil }); !errors.Is(err, ErrNoSuchName) {
		t.Errorf("%v", err)
	}
}
