//go:build !wasip1

package tcp

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"syscall"
	"time"
)

type netStream struct{ conn net.Conn }

func dial(host string, port uint16, deadline time.Time) (stream, error) {
	if time.Until(deadline) <= 0 {
		return nil, ErrTimedOut
	}
	addresses, err := lookUp(host, deadline)
	if err != nil {
		return nil, err
	}
	return inTurn(addresses, deadline, func(address netip.Addr, deadline time.Time) (stream, error) {
		dialer := net.Dialer{Deadline: deadline}
		conn, err := dialer.Dial("tcp", netip.AddrPortFrom(address, port).String())
		if err != nil {
			return nil, problem(err)
		}
		return &netStream{conn}, nil
	})
}

func lookUp(host string, deadline time.Time) ([]netip.Addr, error) {
	if address, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{address}, nil
	}
	ctx, cancel := context.WithDeadline(context.Background(), deadline)
	defer cancel()
	addresses, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	return addresses, problem(err)
}

func (s *netStream) read(buffer []byte, deadline time.Time) (int, error) {
	if err := s.conn.SetReadDeadline(deadline); err != nil {
		return 0, problem(err)
	}
	read, err := s.conn.Read(buffer)
	return read, problem(err)
}

func (s *netStream) write(bytes []byte, deadline time.Time) (int, error) {
	if err := s.conn.SetWriteDeadline(deadline); err != nil {
		return 0, problem(err)
	}
	written, err := s.conn.Write(bytes)
	return written, problem(err)
}

func (s *netStream) close() { _ = s.conn.Close() }

// problem is the same error that a component would see, where there is one.
func problem(err error) error {
	name := (*net.DNSError)(nil)
	switch {
	case err == nil:
		return nil
	case errors.As(err, &name) && name.IsNotFound:
		return ErrNoSuchName
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		return ErrTimedOut
	case name != nil:
		return ErrNameServers
	}
	for number, known := range map[syscall.Errno]error{
		syscall.ECONNREFUSED: ErrRefused,
		syscall.ECONNRESET:   ErrReset,
		syscall.EPIPE:        ErrReset,
		syscall.EHOSTUNREACH: ErrUnreachable,
		syscall.ENETUNREACH:  ErrUnreachable,
		syscall.ETIMEDOUT:    ErrTimedOut,
	} {
		if errors.Is(err, number) {
			return known
		}
	}
	if timeout, ok := err.(net.Error); ok && timeout.Timeout() {
		return ErrTimedOut
	}
	return err
}
