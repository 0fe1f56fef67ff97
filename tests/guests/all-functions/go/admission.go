package main

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"time"

	"witlet.dev/plugin"
	"witlet.dev/plugin/admission"
)

type handler struct{}

func (handler) Validate(config *setting) error { return config.refuse() }

// Admit logs a line of each level, and then gives the verdict that the configuration asks for, or all that the request has.
func (handler) Admit(request admission.Request, config *setting) (admission.Verdict, error) {
	for _, level := range []struct {
		level slog.Level
		name  string
	}{
		{plugin.LevelTrace, "trace"}, {slog.LevelDebug, "debug"}, {slog.LevelInfo, "info"}, {slog.LevelWarn, "warn"},
		{slog.LevelError, "error"},
	} {
		slog.Log(context.Background(), level.level, "logged at "+level.name, "language", "go")
	}
	switch word, wish := config.answer(); {
	case word == "admit":
		return admission.Admit{}, nil
	case wish.Error != nil:
		return nil, errors.New(*wish.Error)
	case wish.Attack != nil:
		return attack(*wish.Attack)
	case wish.Defer != nil:
		retryAfter := time.Duration(wish.Defer.RetryAfterMilliseconds) * time.Millisecond
		return admission.Defer{Reason: wish.Defer.Reason, Message: wish.Defer.Message, RetryAfter: retryAfter}, nil
	case wish.Shortage != nil:
		return admission.Shortages(wish.Shortage), nil
	default:
		return admission.Reject{Reason: "Reported", Message: text(tellRequest(request, config))}, nil
	}
}

func tellRequest(request admission.Request, config *setting) object {
	now := request.Now()
	// A list that was given out is the handler's own.
	clear(request.OtherPods())
	return object{
		"operation":  request.Operation().String(),
		"now":        object{"seconds": now.Unix(), "nanoseconds": now.Nanosecond()},
		"pod":        tellPod(request.Pod(), config.Pointers),
		"node":       tellNode(request.Node(), config.Pointers),
		"other-pods": each(request.OtherPods(), func(pod admission.Pod) object { return tellPod(pod, config.Pointers) }),
		"config":     config.text,
	}
}

func tellPod(pod admission.Pod, paths []string) object {
	identity := pod.Identity()
	return object{
		"identity":    object{"namespace": identity.Namespace, "name": identity.Name, "uid": identity.UID},
		"source":      pod.Source(),
		"labels":      pairs(pod.Labels()),
		"annotations": pairs(pod.Annotations()),
		"priority":    pod.Priority(),
		"containers": each(pod.Containers(), func(it admission.Container) object {
			return object{"name": it.Name, "kind": it.Kind.String(), "image": it.Image}
		}),
		"requests":   quantities(pod.Requests()),
		"host-ports": hostPorts(pod.HostPorts()),
		"qos":        pod.QOS().String(),
		"json-bytes": len(pod.JSON()),
		"pointer":    pointers(paths, pod.Pointer),
	}
}

func tellNode(node admission.Node, paths []string) object {
	return object{
		"name":   node.Name(),
		"labels": pairs(node.Labels()),
		"taints": each(node.Taints(), func(it admission.Taint) object {
			return object{"key": it.Key, "value": it.Value, "effect": it.Effect}
		}),
		"capacity":        quantities(node.Capacity()),
		"allocatable":     quantities(node.Allocatable()),
		"requested":       quantities(node.Requested()),
		"used-host-ports": hostPorts(node.UsedHostPorts()),
		"conditions": each(node.Conditions(), func(it admission.Condition) object {
			return object{"kind": it.Kind, "status": it.Status, "reason": it.Reason, "message": it.Message}
		}),
		"facts":      pairs(node.Facts()),
		"devices":    json.RawMessage(node.Devices()),
		"json-bytes": len(node.JSON()),
		"pointer":    pointers(paths, node.Pointer),
	}
}

func quantities(list []admission.Quantity) []object {
	return each(list, func(it admission.Quantity) object { return object{"resource": it.Resource, "amount": it.Amount} })
}

func hostPorts(list []admission.HostPort) []object {
	return each(list, func(it admission.HostPort) object {
		return object{"ip": it.IP, "protocol": it.Protocol, "port": it.Port}
	})
}

func sorted(of map[string]string) []string { return slices.Sorted(maps.Keys(of)) }
