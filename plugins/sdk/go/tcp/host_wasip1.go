package tcp

import (
	"io"
	"net/netip"
	"time"

	"witlet.dev/plugin/internal/abi"
)

// addressesMax is how many addresses of a name are tried.
const addressesMax = 16

// hostStream has the handles of a socket and of its two streams, which are the socket's children and go first.
type hostStream struct{ socket, input, output uint32 }

func dial(host string, port uint16, deadline time.Time) (stream, error) {
	network := instanceNetwork()
	defer dropNetwork(network)
	addresses, err := lookUp(network, host, deadline)
	if err != nil {
		return nil, err
	}
	return inTurn(addresses, deadline, func(address netip.Addr, deadline time.Time) (stream, error) {
		return open(network, address, port, deadline)
	})
}

func open(network uint32, address netip.Addr, port uint16, deadline time.Time) (stream, error) {
	socket, err := createSocket(address)
	if err != nil {
		return nil, err
	}
	if err := startConnect(socket, network, address, port); err != nil {
		dropSocket(socket)
		return nil, err
	}
	for {
		input, output, err := finishConnect(socket)
		if err == errWouldBlock {
			err = wait(socketSubscribe(socket), deadline)
		} else if err == nil {
			return &hostStream{socket, input, output}, nil
		}
		if err != nil {
			dropSocket(socket)
			return nil, err
		}
	}
}

func (s *hostStream) read(buffer []byte, deadline time.Time) (int, error) {
	for {
		bytes, err := inputRead(s.input, uint64(len(buffer)))
		if err == errStreamClosed {
			return 0, io.EOF
		}
		if err != nil || len(bytes) > 0 {
			return copy(buffer, bytes), err
		}
		if err := wait(inputSubscribe(s.input), deadline); err != nil {
			return 0, err
		}
	}
}

func (s *hostStream) write(bytes []byte, deadline time.Time) (int, error) {
	written := 0
	for written < len(bytes) {
		capacity, err := outputCheckWrite(s.output)
		if err == nil && capacity == 0 {
			if err := wait(outputSubscribe(s.output), deadline); err != nil {
				return written, err
			}
			continue
		}
		part := bytes[written:]
		part = part[:min(uint64(len(part)), capacity)]
		if err == nil {
			err = outputWrite(s.output, part)
		}
		if err != nil {
			return written, ErrReset
		}
		written += len(part)
	}
	return written, nil
}

func (s *hostStream) close() {
	dropInput(s.input)
	dropOutput(s.output)
	dropSocket(s.socket)
}

// wait waits until something is ready, and drops its handle.
func wait(pollable uint32, deadline time.Time) error {
	timer := subscribeDuration(uint64(max(0, time.Until(deadline))))
	defer dropPollable(pollable)
	defer dropPollable(timer)
	abi.Enter()
	defer abi.Leave()
	abi.Arguments.Begin(8)
	abi.Arguments.U32(0, pollable)
	abi.Arguments.U32(4, timer)
	result := abi.ImportResult()
	poll(abi.Arguments.Address(), 2, result)
	for _, index := range abi.List(result, 4, abi.U32) {
		if index == 0 {
			return nil
		}
	}
	return ErrTimedOut
}

func lookUp(network uint32, host string, deadline time.Time) ([]netip.Addr, error) {
	if address, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{address}, nil
	}
	answers, err := resolve(network, host)
	if err != nil {
		return nil, err
	}
	defer dropAnswers(answers)
	var addresses []netip.Addr
	for len(addresses) < addressesMax {
		address, err := nextAnswer(answers)
		if err == errWouldBlock {
			err = wait(answersSubscribe(answers), deadline)
		} else if err == nil && !address.IsValid() {
			break
		} else if err == nil {
			addresses = append(addresses, address)
		}
		if err != nil {
			return nil, err
		}
	}
	return addresses, nil
}
