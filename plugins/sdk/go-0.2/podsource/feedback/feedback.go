// Package feedback is for pod sources that want to know how their pods are, and which of them aren't run. A component that imports it exports
// witlet:pod-source/feedback@0.2.0, which its world must say: pod-source-with-feedback.
package feedback

import (
	"errors"

	"witlet.dev/plugin/v0_2/internal/contract"
)

// A Receiver is a source that receives news of its pods.
type Receiver interface {
	// Notify tells news since the last call that succeeded, of each pod the newest. An error has the host tell it again.
	Notify(news []Change) error
}

// A Change is news of one of the source's pods.
type Change struct {
	// Kind is status, gone or left-out; more may come.
	Kind string
	// Namespace and Name are as the source named the pod, without the node's name; empty of a manifest that could not be read so far.
	Namespace, Name string
	// UID is empty of what is left out.
	UID string
	// Phase is empty where there is no status.
	Phase string
	// Reason is a word for why, and Message the sentence to it.
	Reason, Message string
	// Status is the whole status as JSON; empty where there is none.
	Status string
}

// Reported has a source receive news, as the host does.
func Reported(config string, news []Change) error {
	if contract.Exported == nil {
		return errors.New("no source is there: call podsource.Export in an init function")
	}
	source, err := contract.Exported(config)
	if err != nil {
		return err
	}
	receiver, ok := source.(Receiver)
	if !ok {
		return errors.New("the source receives nothing: it has no method Notify")
	}
	return receiver.Notify(news)
}

// IsRefused is whether the pod isn't run, and won't be as it is: it is left out, or it failed.
func (c Change) IsRefused() bool { return c.Kind == "left-out" || c.Phase == "Failed" }
