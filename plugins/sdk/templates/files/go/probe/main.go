// A probe type: it connects to a TCP port of the pod and expects a greeting.
package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"witlet.dev/plugin/tcp"
	"witlet.dev/plugin/v0_2/probe"
)

// expectBytesMax is how long a greeting can be.
const expectBytesMax = 1024

// greets is the probe type. Its fields would be those of config: in the plugin's entry; it takes none.
type greets struct{}

// parameters are what stands under parameters: of a probe, such as {"port": 25, "expect": "220 "}. Names of ports are numbers already.
type parameters struct {
	// Port is from 1 on.
	Port uint16 `json:"port"`
	// Expect is what the server must say first.
	Expect string `json:"expect"`
}

func (greets) CheckParameters(parameters *parameters, _ func(warning string)) error {
	switch length := len(parameters.Expect); {
	case parameters.Port == 0:
		return invalid("port: a number from 1 to 65535 is needed")
	case length == 0:
		return invalid("expect: may not be empty")
	case length > expectBytesMax:
		return invalid(fmt.Sprintf("expect: may not be longer than %d bytes", expectBytesMax))
	}
	return nil
}

// Probe is called with parameters that CheckParameters took.
func (greets) Probe(target probe.Target, parameters *parameters) (probe.Outcome, error) {
	// An error: without an address nothing can be found out about the server.
	host, err := probe.Address(target)
	if err != nil {
		return probe.Outcome{}, err
	}
	slog.Debug("asking for the greeting", "host", host, "port", parameters.Port)
	began := time.Now()
	greeting, err := greet(host, parameters.Port, len(parameters.Expect), probe.Deadline(target))
	switch {
	case err != nil:
		return probe.Failure(err.Error()), nil
	case greeting != parameters.Expect:
		return probe.Failure(fmt.Sprintf("it says %q, not %q", greeting, parameters.Expect)), nil
	default:
		return probe.Success(fmt.Sprintf("it says %q", greeting)).Took(time.Since(began)), nil
	}
}

// greet returns the first bytes that the server sends, so many or as many as there are before it closes.
func greet(host string, port uint16, length int, deadline time.Time) (string, error) {
	conn, err := tcp.Dial(host, port, deadline)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	greeting := make([]byte, length)
	read, err := io.ReadFull(conn, greeting)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return string(greeting[:read]), err
}

func invalid(message string) error { return &probe.Error{Code: "InvalidParameters", Message: message} }

func init() { probe.Export[greets, parameters]() }

func main() {}
