// Package feedback is for pod sources that want the statuses of their pods. A component that imports it exports
// witlet:pod-source/feedback@0.1.0, which its world must say: pod-source-with-feedback.
package feedback

import (
	"errors"

	"witlet.dev/plugin/internal/abi"
	"witlet.dev/plugin/internal/host"
)

// A Feedback receives the statuses of pods. C is the source's configuration.
type Feedback[C any] interface {
	// Statuses tells about pods whose status changed since the last call that succeeded, each with its newest status. At most once a second.
	// An error has the host tell it again with the next change.
	Statuses(changed []PodStatus, config *C) error
}

// A PodStatus is the status of one of the source's pods.
type PodStatus struct {
	Namespace string
	// Name is as the source named the pod, without the node's name.
	Name string
	UID  string
	// Status is the pod's status as JSON; empty once the pod is gone.
	Status string
}

// Export makes a feedback what the host tells. Call it in an init function, once.
func Export[C any](feedback Feedback[C]) {
	config := host.NewConfig[C]()
	exported = func(changed []PodStatus) error {
		config, err := config.Get()
		if err != nil {
			return err
		}
		return feedback.Statuses(changed, config)
	}
}

var exported = func([]PodStatus) error {
	return errors.New("no feedback is there: call feedback.Export in an init function")
}

func readStatuses(address, length uint32) []PodStatus {
	return abi.ListOf(address, length, 36, func(at uint32) PodStatus {
		status, _ := abi.OptionalText(at + 24)
		return PodStatus{Namespace: abi.Text(at), Name: abi.Text(at + 8), UID: abi.Text(at + 16), Status: status}
	})
}
