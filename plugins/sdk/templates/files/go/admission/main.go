// An admission handler: it refuses pods without the label that the configuration names.
package main

import (
	"fmt"
	"log/slog"

	"witlet.dev/plugin/v0_2/admission"
)

// labelBytesMax is how long the key of a label can be: a domain, a slash and a name.
const labelBytesMax = 253 + 1 + 63

// labelRequired is the handler. Its fields are those of config: in the plugin's entry, such as {"label": "team"}.
type labelRequired struct {
	// Label is the key of the label that every pod must have.
	Label string `json:"label"`
}

// Subscribes says when it is asked: a pod is judged when it is new.
func (labelRequired) Subscribes() []string { return []string{"add"} }

func (p labelRequired) Validate(admission.Setup) error {
	switch length := len(p.Label); {
	case length == 0:
		return admission.Invalid("label", "may not be empty")
	case length > labelBytesMax:
		return admission.Invalid("label", fmt.Sprintf("may not be longer than %d bytes", labelBytesMax))
	}
	return nil
}

func (p labelRequired) Admit(request admission.Request) (admission.Verdict, error) {
	pod := request.Pod()
	slog.Debug("asked about a pod", "name", pod.Name())
	switch value, ok := pod.Label(p.Label); {
	case !ok:
		return admission.Reject("LabelMissing", "the pod has no label %s", p.Label), nil
	case value == "":
		return admission.Reject("LabelMissing", "the pod's label %s is empty", p.Label), nil
	default:
		return admission.Admit(), nil
	}
}

func init() { admission.Export(admission.Made[labelRequired]) }

func main() {}
