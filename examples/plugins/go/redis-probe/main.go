// Example probe type: a Redis server answers PING. What it does in detail stands at the top of
// examples/plugins/cases/redis-probe.yaml; the same plugin exists in other languages.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"time"

	"witlet.dev/plugin/probe"
	"witlet.dev/plugin/secret"
	"witlet.dev/plugin/tcp"
)

// defaultPort is where Redis listens unless configured otherwise.
const defaultPort = 6379

var ping = []byte("PING\r\n")

// config is the plugin's config:.
type config struct {
	// PasswordSecret is the name of the secret with the password; none: it doesn't log in.
	PasswordSecret *string `json:"passwordSecret"`
}

// parameters are the probe's parameters:.
type parameters struct {
	// Port is 6379 if it is missing.
	Port *uint16 `json:"port"`
}

type prober struct{}

func (prober) Validate(config *config) error {
	if config.PasswordSecret != nil && *config.PasswordSecret == "" {
		return errors.New("passwordSecret: may not be empty")
	}
	return nil
}

func (prober) CheckParameters(parameters *parameters, _ *config) error {
	if parameters.Port != nil && *parameters.Port == 0 {
		return errors.New("port: may not be 0")
	}
	return nil
}

func (p prober) Probe(target probe.Target, parameters *parameters, config *config) (probe.Outcome, error) {
	deadline := probe.Deadline(target)
	if err := p.CheckParameters(parameters, config); err != nil {
		return nil, err
	}
	port := uint16(defaultPort)
	if parameters.Port != nil {
		port = *parameters.Port
	}
	host, err := probe.PodIP(target)
	if err != nil {
		return probe.Failure("the pod has no address"), nil
	}
	password, err := password(config)
	if err != nil {
		return nil, err
	}
	line, err := ask(host, port, password, deadline)
	if err != nil {
		return probe.Failure(err.Error()), nil
	}
	return judge(line), nil
}

// judge is what the last line of the server means.
func judge(line string) probe.Outcome {
	if words, isError := strings.CutPrefix(line, "-"); isError {
		return probe.Failure(words)
	}
	if line == "+PONG" {
		return probe.Success("PONG")
	}
	return probe.Failure(fmt.Sprintf("unexpected answer \"%s\"", line))
}

// password is the secret's value without the line end that a file may end with; none if none is configured.
func password(config *config) ([]byte, error) {
	if config.PasswordSecret == nil {
		return nil, nil
	}
	value, err := secret.Get(*config.PasswordSecret)
	if err != nil {
		return nil, fmt.Errorf("secret %s: %w", *config.PasswordSecret, err)
	}
	if line, ok := bytes.CutSuffix(value, []byte("\n")); ok {
		value = bytes.TrimSuffix(line, []byte("\r"))
	}
	return value, nil
}

// ask is what the server says to PING, or to the password if it doesn't take it.
func ask(host string, port uint16, password []byte, deadline time.Time) (string, error) {
	connection, err := tcp.DialLines(host, port, deadline)
	if err != nil {
		return "", err
	}
	defer func() { _ = connection.Close() }()
	if password != nil {
		// As an array it takes any byte of a password for what it is.
		line, err := connection.Ask(fmt.Appendf(nil, "*2\r\n$4\r\nAUTH\r\n$%d\r\n%s\r\n", len(password), password))
		if err != nil || line != "+OK" {
			return line, err
		}
	}
	return connection.Ask(ping)
}

func init() { probe.Export(prober{}) }

func main() {}
