// A probe type that asks by HTTPS, or by a connection of the host's, and says what it was answered.
package main

import (
	"bytes"
	"errors"
	"fmt"

	"witlet.dev/plugin/http"
	"witlet.dev/plugin/v0_2/probe"
)

const (
	bodyBytesMax = 16
	lineBytesMax = 64
)

// https is the probe type. It has no configuration.
type https struct{}

// parameters are what stands under parameters: of a probe.
type parameters struct {
	URL    string            `json:"url"`
	Method string            `json:"method"`
	Header map[string]string `json:"headers"`
	Body   string            `json:"body"`
	// Ping is a port that is sent PING, instead of URL.
	Ping uint16 `json:"ping"`
	TLS  string `json:"tls"`
}

func (https) Probe(target probe.Target, asked *parameters) (probe.Outcome, error) {
	if asked.Ping != 0 {
		return ping(target, asked.Ping, asked.TLS)
	}
	request := http.Request{Method: asked.Method, URL: asked.URL, Header: asked.Header, Body: []byte(asked.Body), BodyBytesMax: bodyBytesMax}
	response, err := http.Send(request, probe.Deadline(target))
	if err != nil {
		code := ""
		if of := (*http.Error)(nil); errors.As(err, &of) {
			code = of.Code
		}
		return probe.Failure(code + ": " + err.Error()), nil
	}
	node, is := response.Header["x-node"]
	if !is {
		node = "-"
	}
	said := fmt.Sprintf("%d %s %s", response.Status, node, response.Body)
	if response.Status >= 300 {
		return probe.Failure(said), nil
	}
	return probe.Success(said), nil
}

func ping(target probe.Target, port uint16, tls string) (probe.Outcome, error) {
	said, err := pong(target, port, tls)
	if of := (*probe.Error)(nil); errors.As(err, &of) && of.Code != "NoAddress" {
		return probe.Failure(of.Code + ": " + of.Message), nil
	}
	return probe.Success(said), err
}

func pong(target probe.Target, port uint16, tls string) (string, error) {
	host, err := probe.Address(target)
	if err != nil {
		return "", err
	}
	var connection probe.Connection
	if tls == "loopback" {
		connection, err = probe.OpenLoopback(target, port)
	} else {
		connection, err = probe.Open(target, host, port)
	}
	if err == nil && (tls == "begin" || tls == "later") {
		err = connection.StartTLS(host)
	}
	if err == nil {
		err = connection.Send([]byte("PING\r\n"))
	}
	if err != nil {
		return "", err
	}
	var line []byte
	for len(line) < lineBytesMax && !bytes.HasSuffix(line, []byte("\r\n")) {
		part, err := connection.Receive(lineBytesMax)
		if err != nil || len(part) == 0 {
			return "", err
		}
		line = append(line, part...)
	}
	return fmt.Sprintf("%s, certificates: %d", bytes.TrimSpace(line), len(connection.PeerCertificates())), nil
}

func init() { probe.Export[https, parameters]() }

func main() {}
