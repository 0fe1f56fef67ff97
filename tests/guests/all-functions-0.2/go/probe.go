package main

import (
	"strings"
	"time"

	"witlet.dev/plugin/v0_2/probe"
)

type prober struct {
	Do  string `json:"do"`
	Own bool   `json:"own"`
}

type parameters struct {
	Do      string   `json:"do"`
	Command []string `json:"command"`
	Host    string   `json:"host"`
	Port    uint16   `json:"port"`
}

func refused(do string) error {
	if do == "refuse" {
		return ownError()
	}
	return nil
}

func (p prober) Validate(warn func(string)) error {
	warn("of the configuration")
	return refused(p.Do)
}

func (prober) CheckParameters(parameters *parameters, warn func(string)) error {
	warn("of the parameters")
	return refused(parameters.Do)
}

// Probe gives the outcome that the parameters name, or succeeds with a part of what the target has.
func (p prober) Probe(target probe.Target, parameters *parameters) (probe.Outcome, error) {
	switch parameters.Do {
	case "failure":
		return probe.Failure("it failed"), nil
	case "unknown":
		return probe.Unknown("nothing was found out"), nil
	case "error":
		return probe.Outcome{}, ownError()
	case "remark":
		reported := text(object{"answer.latency": true, "answer.annotate": true})
		return probe.Success(reported).Warn("it is old").Took(1500*time.Microsecond).Annotate("version", "7"), nil
	default:
		return probe.Success(text(p.reported(target, parameters))), nil
	}
}

func (p prober) reported(target probe.Target, parameters *parameters) any {
	switch parameters.Do {
	case "target":
		return object{
			"target.kind":                   target.Kind(),
			"target.timeout-milliseconds":   target.Timeout().Milliseconds(),
			"target.remaining-milliseconds": target.Remaining() > 0,
			"target.pod":                    tellProbedPod(target.Pod()),
			"target.container":              tellProbedContainer(target.Container()),
		}
	case "host":
		return tellHost(p.Do != "")
	case "exec":
		return object{"exec/run": tellExec(target, parameters.Command)}
	case "talk":
		return object{"connections/open": tellConnection(probe.Open(target, parameters.Host, parameters.Port))}
	case "loopback":
		return object{"connections/open-loopback": tellConnection(probe.OpenLoopback(target, parameters.Port))}
	}
	return "there is no such part"
}

func tellProbedPod(pod probe.Pod) object {
	return object{
		"pod.namespace":      pod.Namespace(),
		"pod.name":           pod.Name(),
		"pod.uid":            pod.UID(),
		"pod.label":          both(pod.Label, "a", none),
		"pod.labels":         pairs(pod.Labels()),
		"pod.annotation":     both(pod.Annotation, "note", none),
		"pod.annotations":    pairs(pod.Annotations()),
		"pod.addresses":      texts(pod.Addresses()),
		"pod.host-addresses": texts(pod.HostAddresses()),
		"pod.host-network":   pod.HostNetwork(),
		"pod.json":           strings.Contains(pod.JSON(), `"containers"`),
		"pod.pointer":        both(pod.Pointer, "/metadata/name", "/none"),
	}
}

func tellProbedContainer(container probe.Container) object {
	port := func(it probe.Port) object {
		return object{"container-port.name": it.Name, "container-port.number": it.Number, "container-port.protocol": it.Protocol}
	}
	return object{
		"container.name":     container.Name(),
		"container.id":       container.ID(),
		"container.restarts": container.Restarts(),
		"container.image":    container.Image(),
		"container.ports":    each(container.Ports(), port),
		"container.port":     both(container.Port, "web", none),
		"container.pointer":  both(container.Pointer, "/name", "/none"),
	}
}

func tellExec(target probe.Target, command []string) any {
	ended, err := probe.Run(target, command...)
	if err != nil {
		return code(err)
	}
	return object{
		"exec/ended.exit-code":    ended.ExitCode,
		"exec/ended.output":       string(ended.Output),
		"exec/ended.error-output": string(ended.ErrorOutput),
	}
}

// tellConnection says a line, what comes back, and then TLS, which the server doesn't speak.
func tellConnection(connection probe.Connection, err error) any {
	if err != nil {
		return code(err)
	}
	done := func(err error) any {
		if err != nil {
			return code(err)
		}
		return nil
	}
	certificates := len(connection.PeerCertificates())
	wrote := connection.Send([]byte("hello\n")) == nil
	read, err := connection.Receive(64)
	if err != nil {
		return code(err)
	}
	return object{
		"connections/connection.peer-certificates": certificates,
		"connections/connection.write":             wrote,
		"connections/connection.read":              string(read),
		"connections/connection.start-tls":         done(connection.StartTLS("web")),
		"connections/connection.shutdown":          done(connection.Shutdown()),
	}
}
