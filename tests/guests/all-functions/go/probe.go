package main

import (
	"errors"

	"witlet.dev/plugin/exec"
	"witlet.dev/plugin/probe"
	"witlet.dev/plugin/secret"
)

type prober struct{}

func (prober) Validate(config *setting) error { return config.refuse() }

func (prober) CheckParameters(parameters *setting, _ *setting) error { return parameters.refuse() }

// Probe gives the outcome that the parameters ask for, with all that the target has as its detail.
func (prober) Probe(target probe.Target, parameters, _ *setting) (probe.Outcome, error) {
	detail := text(tellTarget(target, parameters))
	switch word, wish := parameters.answer(); {
	case wish.Error != nil:
		return nil, errors.New(*wish.Error)
	case word == "warning":
		return probe.Warning(detail), nil
	case word == "failure":
		return probe.Failure(detail), nil
	default:
		return probe.Success(detail), nil
	}
}

func tellTarget(target probe.Target, parameters *setting) object {
	pod := target.Pod()
	reported := object{
		"pod":            object{"namespace": pod.Namespace, "name": pod.Name, "uid": pod.UID},
		"pod-json-bytes": len(target.PodJSON()),
		"pod-pointer":    pointers(parameters.Pointers, target.PodPointer),
		"container":      target.Container(),
		"container-id":   target.ContainerID(),
		"restarts":       target.Restarts(),
		"pod-ips":        append([]string{}, target.PodIPs()...),
		"host-ips":       append([]string{}, target.HostIPs()...),
		"named-ports": each(target.NamedPorts(), func(it probe.NamedPort) object {
			return object{"name": it.Name, "port": it.Port, "protocol": it.Protocol}
		}),
		"kind":                   target.Kind().String(),
		"remaining-milliseconds": target.Remaining() > 0,
		"secret":                 nil,
		"exec":                   nil,
	}
	if parameters.Secret != nil {
		reported["secret"] = tellSecret(*parameters.Secret)
	}
	if parameters.Command != nil {
		reported["exec"] = tellExec(target, parameters.Command)
	}
	return reported
}

// tellSecret is the secret's text, or the contract's name for why there is none.
func tellSecret(name string) string {
	switch value, err := secret.Get(name); {
	case errors.Is(err, secret.ErrNotGranted):
		return "not-granted"
	case errors.Is(err, secret.ErrNotFound):
		return "not-found"
	default:
		return string(value)
	}
}

func tellExec(target probe.Target, command []string) object {
	switch result, err := exec.Run(target, command...); {
	case errors.Is(err, exec.ErrTimedOut):
		return object{"timed-out": true}
	case err != nil:
		return object{"failed": err.Error()}
	default:
		return object{"exit-code": result.ExitCode, "output": string(result.Output)}
	}
}
