// Example of contract 0.2: a probe type. A Redis server answers PING, and how long that took is said.
package main

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"witlet.dev/plugin/v0_2/probe"
	"witlet.dev/plugin/v0_2/secret"
	"witlet.dev/plugin/tcp"
)

// redis is the probe type; its fields are those of the plugin's config:.
type redis struct {
	// PasswordSecret is the name of the secret with the password; none: it doesn't log in.
	PasswordSecret *string `json:"passwordSecret"`
}

// parameters are the probe's parameters:.
type parameters struct {
	// Host is an address or a name; the pod's address if it is missing.
	Host *string `json:"host"`
	// Port is 6379 if it is missing.
	Port *uint16 `json:"port"`
	// SlowAfterMilliseconds is from which latency on a probe that passes warns.
	SlowAfterMilliseconds *int64 `json:"slowAfterMilliseconds"`
}

func (r redis) Validate(func(string)) error {
	if r.PasswordSecret != nil && *r.PasswordSecret == "" {
		return probe.Invalid("passwordSecret", "is empty")
	}
	return nil
}

func (redis) CheckParameters(parameters *parameters, _ func(string)) error {
	if parameters.Port != nil && *parameters.Port == 0 {
		return &probe.Error{Code: "InvalidParameters", Message: "port: must be 1 to 65535"}
	}
	return nil
}

func (r redis) Probe(target probe.Target, parameters *parameters) (probe.Outcome, error) {
	deadline := probe.Deadline(target)
	// A secret that isn't there is no fault of the server's: nothing was found out.
	password, err := r.password()
	if err != nil {
		return probe.Outcome{}, err
	}
	host, port := "", uint16(6379)
	if parameters.Host != nil {
		host = *parameters.Host
	}
	if host == "" {
		if host, err = probe.Address(target); err != nil {
			return probe.Outcome{}, err
		}
	}
	if parameters.Port != nil {
		port = *parameters.Port
	}
	took, err := ping(host, port, password, deadline)
	if err != nil {
		return probe.Failure(err.Error()), nil
	}
	outcome := probe.Success("").Took(took)
	if slow := parameters.SlowAfterMilliseconds; slow != nil && took >= time.Duration(*slow)*time.Millisecond {
		return outcome.Warn(fmt.Sprintf("PING took %d ms or more", *slow)), nil
	}
	return outcome, nil
}

// password is the secret's value without a file's last line end; none if none is configured.
func (r redis) password() ([]byte, error) {
	if r.PasswordSecret == nil {
		return nil, nil
	}
	value, err := secret.Get(*r.PasswordSecret)
	return bytes.TrimSuffix(value, []byte("\n")), err
}

// ping is how long the server took to answer PING, after a login if there is a password. An error is why the probe fails.
func ping(host string, port uint16, password []byte, deadline time.Time) (time.Duration, error) {
	connection, err := tcp.DialLines(host, port, deadline)
	if err != nil {
		return 0, err
	}
	defer func() { _ = connection.Close() }()
	if password != nil {
		if err := expect(connection, fmt.Appendf(nil, "AUTH %s\r\n", password), "+OK"); err != nil {
			return 0, err
		}
	}
	asked := time.Now()
	err = expect(connection, []byte("PING\r\n"), "+PONG")
	return time.Since(asked), err
}

// expect asks, and fails with what else the server answers.
func expect(connection *tcp.Lines, command []byte, answer string) error {
	line, err := connection.Ask(command)
	if err != nil || line == answer {
		return err
	}
	if words, isError := strings.CutPrefix(line, "-"); isError {
		return fmt.Errorf("%s", words)
	}
	return fmt.Errorf("it answers %q", line)
}

func init() { probe.Export[redis, parameters]() }

func main() {}
