//go:build !wasip1

package admission_test

import (
	"errors"
	"testing"
	"time"

	"witlet.dev/plugin/admission"
	"witlet.dev/plugin/admission/admissiontest"
)

type config struct {
	Label string `json:"label"`
}

// handler is what an author writes.
type handler struct{}

func (handler) Validate(config *config) error {
	if config.Label == "" {
		return errors.New("label: may not be empty")
	}
	return nil
}

func (handler) Admit(request admission.Request, config *config) (admission.Verdict, error) {
	if _, ok := request.Pod().Labels()[config.Label]; ok {
		return admission.Admit{}, nil
	}
	return admission.Reject{Reason: "LabelMissing", Message: "no label " + config.Label}, nil
}

func TestAHandlerIsAskedAboutPlainData(t *testing.T) {
	pod := admissiontest.PodOf(`{"metadata": {"name": "web", "labels": {"team": "red"}}, "spec": {
		"priority": 7,
		"initContainers": [{"name": "setup", "image": "a"}, {"name": "proxy", "restartPolicy": "Always"}],
		"containers": [{"name": "app", "image": "nginx"}], "ephemeralContainers": [{"name": "shell"}]}}`)
	request := admissiontest.Request{Pod: pod, OtherPods: []admissiontest.Pod{pod, {}}}.Request()
	for label, want := range map[string]admission.Verdict{
		"team": admission.Admit{},
		"tier": admission.Reject{Reason: "LabelMissing", Message: "no label tier"},
	} {
		if got, err := (handler{}).Admit(request, &config{Label: label}); got != want || err != nil {
			t.Errorf("%s: %v, %v", label, got, err)
		}
	}
	want := []admission.Container{
		{Name: "setup", Kind: admission.InitContainer, Image: "a"},
		{Name: "proxy", Kind: admission.Sidecar},
		{Name: "app", Kind: admission.AppContainer, Image: "nginx"},
		{Name: "shell", Kind: admission.EphemeralContainer},
	}
	for i, container := range request.Pod().Containers() {
		if container != want[i] {
			t.Errorf("%v instead of %v", container, want[i])
		}
	}
	identity := admission.PodRef{Namespace: "default", Name: "web"}
	if got := request.Pod(); got.Identity() != identity || got.Priority() != 7 || got.Source() != "file" {
		t.Errorf("%v", got)
	}
	if text, ok := request.Pod().Pointer("/metadata/name"); text != `"web"` || !ok {
		t.Errorf("%s, %v", text, ok)
	}
	if len(request.OtherPods()) != 2 || !request.Now().Equal(time.Unix(0, 0)) || request.Node().Devices() != "[]" {
		t.Error("what a test doesn't say has a meaning")
	}
}

func TestWordsAreTheContracts(t *testing.T) {
	for word, value := range map[string]interface{ String() string }{
		"add": admission.Add, "resize": admission.Resize, "best-effort": admission.BestEffort,
		"sidecar": admission.Sidecar, "unknown": admission.Operation(9),
	} {
		if value.String() != word {
			t.Errorf("%v instead of %s", value, word)
		}
	}
	if got := admission.AmountOf([]admission.Quantity{{Resource: "cpu", Amount: 5}}, "cpu"); got != 5 {
		t.Errorf("%d", got)
	}
}

func TestPodOfReadsKeysAsKubernetesDoes(t *testing.T) {
	pod := admissiontest.PodOf(`{"Metadata": {"name": "no"}, "metadata": {"NAME": "no", "uid": "u1", "Labels": {"a": "b"}},
		"spec": {"Priority": 9, "Containers": [{"name": "no"}], "containers": [{"name": "app", "Image": "no"}]}}`)
	if pod.Identity != (admission.PodRef{Namespace: "default", UID: "u1"}) || pod.Labels != nil || pod.Priority != 0 {
		t.Errorf("%+v", pod)
	}
	if len(pod.Containers) != 1 || pod.Containers[0] != (admission.Container{Name: "app", Kind: admission.AppContainer}) {
		t.Errorf("%+v", pod.Containers)
	}
}
