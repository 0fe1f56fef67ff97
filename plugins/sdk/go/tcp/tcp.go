// Package tcp has connections with a deadline, for plugins with the grant network and a world that imports the interfaces of wasi:sockets
// that a template for probe types names. They wait synchronously: other goroutines stand still meanwhile. Outside a component
// connections are those of package net, so that tests can bring servers of their own.
package tcp

import (
	"errors"
	"fmt"
	"io"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"witlet.dev/plugin/internal/streams"
)

// What goes wrong, in the words of package net. Anything else has the system's words.
var (
	// ErrRefused: no server listens there.
	ErrRefused = errors.New("connect: connection refused")
	// ErrReset: the other side broke the connection off.
	ErrReset = errors.New("connection reset by peer")
	// ErrUnreachable: no way leads there.
	ErrUnreachable = errors.New("connect: no route to host")
	// ErrTimedOut: the deadline was over.
	ErrTimedOut = streams.ErrTimedOut
	// ErrDenied: the plugin's grants don't let it go there.
	ErrDenied = errors.New("not granted to the plugin")
	// ErrNoSuchName: no host has this name.
	ErrNoSuchName = errors.New("lookup: no such host")
	// ErrNameServers: the name servers give no answer.
	ErrNameServers = errors.New("lookup: server misbehaving")
)

// An Error says what failed, such as dial tcp 10.0.0.7:80: connect: connection refused.
type Error struct {
	// Op is dial, read or write.
	Op string
	// Address is host and port, as they were given.
	Address string
	// Err is what went wrong: ErrRefused and the like, or the system's words.
	Err error
}

// Error is what failed in one line.
func (e *Error) Error() string { return fmt.Sprintf("%s tcp %s: %v", e.Op, e.Address, e.Err) }

// Unwrap is what went wrong.
func (e *Error) Unwrap() error { return e.Err }

// A Conn is a connection. Close it: an instance that is kept for further calls keeps its connections, too.
type Conn struct {
	stream   stream
	address  string
	deadline time.Time
}

// stream is a connection of the system; after the end of what the other side sent read gives io.EOF.
type stream interface {
	read(buffer []byte, deadline time.Time) (int, error)
	write(bytes []byte, deadline time.Time) (int, error)
	close()
}

// Dial opens a connection to an address, or to one of a name's addresses. The deadline also holds for what is read and written later.
func Dial(host string, port uint16, deadline time.Time) (*Conn, error) {
	address := HostPort(host, port)
	stream, err := dial(host, port, deadline)
	if err != nil {
		return nil, &Error{Op: "dial", Address: address, Err: err}
	}
	return &Conn{stream: stream, address: address, deadline: deadline}, nil
}

// SetDeadline sets another deadline for what is read and written from now on.
func (c *Conn) SetDeadline(deadline time.Time) { c.deadline = deadline }

// Read waits for bytes and gives what is there; io.EOF once the other side has closed.
func (c *Conn) Read(buffer []byte) (int, error) {
	if len(buffer) == 0 {
		return 0, nil
	}
	read, err := c.stream.read(buffer, c.deadline)
	if err != nil && !errors.Is(err, io.EOF) {
		err = &Error{Op: "read", Address: c.address, Err: err}
	}
	return read, err
}

// Write writes all of the bytes.
func (c *Conn) Write(bytes []byte) (int, error) {
	written, err := c.stream.write(bytes, c.deadline)
	if err != nil {
		err = &Error{Op: "write", Address: c.address, Err: err}
	}
	return written, err
}

// Close closes the connection. It never fails, and closing again does nothing.
func (c *Conn) Close() error {
	c.stream.close()
	c.stream = closed{}
	return nil
}

// HostPort is host:port, an IPv6 address in brackets.
func HostPort(host string, port uint16) string {
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return host + ":" + strconv.Itoa(int(port))
}

var errClosed = errors.New("use of closed connection")

type closed struct{}

func (closed) read([]byte, time.Time) (int, error)  { return 0, errClosed }
func (closed) write([]byte, time.Time) (int, error) { return 0, errClosed }
func (closed) close()                               {}

// inTurn tries a name's addresses, each with what is left shared with those behind it, so that one that doesn't answer leaves time for the
// others.
func inTurn[S any](addresses []netip.Addr, deadline time.Time, open func(netip.Addr, time.Time) (S, error)) (S, error) {
	var stream S
	err := ErrNoSuchName
	for i, address := range addresses {
		turn := deadline
		if behind := len(addresses) - i; behind > 1 {
			turn = time.Now().Add(time.Until(deadline) / time.Duration(behind))
		}
		if stream, err = open(address, turn); err == nil {
			break
		}
	}
	return stream, err
}
