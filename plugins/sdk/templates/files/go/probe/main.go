// A probe type: it connects to a TCP port of the pod and expects a greeting.
package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"witlet.dev/plugin/probe"
	"witlet.dev/plugin/tcp"
)

// expectBytesMax is how long a greeting can be.
const expectBytesMax = 1024

// parameters are what stands under parameters: of a probe, such as {"port": 25, "expect": "220 "}. Names of ports are numbers already.
type parameters struct {
	// Port is from 1 on.
	Port uint16 `json:"port"`
	// Expect is what the server must say first.
	Expect string `json:"expect"`
}

type prober struct{}

// Validate has nothing to check: the probe type takes no configuration.
func (prober) Validate(*struct{}) error { return nil }

func (prober) CheckParameters(parameters *parameters, _ *struct{}) error {
	switch length := len(parameters.Expect); {
	case parameters.Port == 0:
		return errors.New("port: a number from 1 to 65535 is needed")
	case length == 0:
		return errors.New("expect: may not be empty")
	case length > expectBytesMax:
		return fmt.Errorf("expect: may not be longer than %d bytes", expectBytesMax)
	}
	return nil
}

func (p prober) Probe(target probe.Target, parameters *parameters, config *struct{}) (probe.Outcome, error) {
	if err := p.CheckParameters(parameters, config); err != nil {
		return nil, err
	}
	// An error: without an address nothing can be found out about the server.
	host, err := probe.PodIP(target)
	if err != nil {
		return nil, err
	}
	slog.Debug("asking for the greeting", "host", host, "port", parameters.Port)
	greeting, err := greet(host, parameters.Port, len(parameters.Expect), probe.Deadline(target))
	switch {
	case err != nil:
		return probe.Failure(err.Error()), nil
	case greeting != parameters.Expect:
		return probe.Failure(fmt.Sprintf("it says %q, not %q", greeting, parameters.Expect)), nil
	default:
		return probe.Success(fmt.Sprintf("it says %q", greeting)), nil
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

func init() { probe.Export(prober{}) }

func main() {}
