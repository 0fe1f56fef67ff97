package main

import (
	"strings"
	"testing"

	"witlet.dev/plugin"
	"witlet.dev/plugin/admission"
	"witlet.dev/plugin/admission/admissiontest"
)

func TestAPodIsJudgedByItsLabel(t *testing.T) {
	for name, c := range map[string]struct {
		operation admission.Operation
		labels    map[string]string
		want      admission.Verdict
	}{
		"with the label": {labels: map[string]string{"app": "web", "team": "shop"}, want: admission.Admit{}},
		"without it":     {labels: map[string]string{"app": "web"}, want: admission.Reject{Reason: reason, Message: "the pod has no label team"}},
		"an empty one":   {labels: map[string]string{"team": ""}, want: admission.Reject{Reason: reason, Message: "the pod's label team is empty"}},
		"a resize":       {operation: admission.Resize, want: admission.Admit{}},
	} {
		request := admissiontest.Request{Operation: c.operation, Pod: admissiontest.Pod{Labels: c.labels}}.Request()
		if got, err := (handler{}).Admit(request, &config{Label: "team"}); got != c.want || err != nil {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

func TestAConfigurationThatMakesNoSenseIsRefused(t *testing.T) {
	for text, words := range map[string]string{
		"null":              "label: may not be empty",
		`{"label": ""}`:     "label: may not be empty",
		`{"label": 1}`:      "label: found number, expected a text",
		`{"lable": "team"}`: "lable",
		`{"label": "` + strings.Repeat("x", labelBytesMax+1) + `"}`: "label: may not be longer than 317 bytes",
	} {
		read, err := plugin.Decode[config](text)
		if err == nil {
			err = handler{}.Validate(read)
		}
		if err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%.30s: %v", text, err)
		}
	}
}
