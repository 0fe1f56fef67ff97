package tcp

import (
	"io"
	"net/netip"
	"time"

	"witlet.dev/plugin/internal/streams"
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
			err = streams.Wait(socketSubscribe(socket), deadline)
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
	bytes, err := streams.Read(s.input, uint64(len(buffer)), deadline)
	if err == streams.ErrClosed {
		return 0, io.EOF
	}
	return copy(buffer, bytes), broken(err)
}

func (s *hostStream) write(bytes []byte, deadline time.Time) (int, error) {
	written, err := streams.Write(s.output, bytes, deadline)
	if err == streams.ErrClosed {
		err = ErrReset
	}
	return written, broken(err)
}

// broken is the error of a connection whose stream failed so.
func broken(err error) error {
	if failure, ok := err.(streams.Failure); ok {
		failure.Drop()
		return ErrReset
	}
	return err
}

func (s *hostStream) close() {
	streams.DropInput(s.input)
	streams.DropOutput(s.output)
	dropSocket(s.socket)
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
			err = streams.Wait(answersSubscribe(answers), deadline)
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
