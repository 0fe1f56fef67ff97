// An admission handler: it refuses pods without the label that the configuration names.
package main

import (
	"errors"
	"fmt"
	"log/slog"

	"witlet.dev/plugin/admission"
)

// reason is that of the rejection.
const reason = "LabelMissing"

// labelBytesMax is how long the key of a label can be: a domain, a slash and a name.
const labelBytesMax = 253 + 1 + 63

// config is what stands under config: in the plugin's entry, such as {"label": "team"}.
type config struct {
	// Label is the key of the label that every pod must have.
	Label string `json:"label"`
}

type handler struct{}

func (handler) Validate(config *config) error {
	switch length := len(config.Label); {
	case length == 0:
		return errors.New("label: may not be empty")
	case length > labelBytesMax:
		return fmt.Errorf("label: may not be longer than %d bytes", labelBytesMax)
	}
	return nil
}

func (handler) Admit(request admission.Request, config *config) (admission.Verdict, error) {
	// A running pod that asks for other resources was judged when it was added.
	if request.Operation() == admission.Resize {
		return admission.Admit{}, nil
	}
	pod := request.Pod()
	verdict := judge(config.Label, pod.Labels())
	slog.Debug("judged", "pod", pod.Identity().Name, "verdict", fmt.Sprintf("%T", verdict))
	return verdict, nil
}

// judge is the verdict on a pod with these labels.
func judge(key string, labels map[string]string) admission.Verdict {
	switch value, ok := labels[key]; {
	case !ok:
		return admission.Reject{Reason: reason, Message: "the pod has no label " + key}
	case value == "":
		return admission.Reject{Reason: reason, Message: fmt.Sprintf("the pod's label %s is empty", key)}
	default:
		return admission.Admit{}
	}
}

func init() { admission.Export(handler{}) }

func main() {}
