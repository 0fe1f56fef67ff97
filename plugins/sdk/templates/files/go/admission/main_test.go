package main

import (
	"reflect"
	"strings"
	"testing"

	"witlet.dev/plugin/v0_2/admission"
	"witlet.dev/plugin/v0_2/admission/admissiontest"
)

func TestAPodIsJudgedByItsLabel(t *testing.T) {
	for pod, want := range map[string]admission.Verdict{
		`{"metadata": {"labels": {"app": "web", "team": "shop"}}}`: admission.Admit(),
		`{"metadata": {"labels": {"app": "web"}}}`:                 admission.Reject("LabelMissing", "the pod has no label team"),
		`{"metadata": {"labels": {"team": ""}}}`:                   admission.Reject("LabelMissing", "the pod's label team is empty"),
	} {
		request := admissiontest.Request{Pod: pod}.Request()
		if got, err := (labelRequired{Label: "team"}).Admit(request); !reflect.DeepEqual(got, want) || err != nil {
			t.Errorf("%s: %+v, %v", pod, got, err)
		}
	}
}

func TestItIsAskedAboutNewPods(t *testing.T) {
	_, setup, err := admissiontest.Load(admission.Made[labelRequired], `{"label": "team"}`)
	if err != nil || strings.Join(setup.Subscribed, " ") != "add" {
		t.Errorf("%+v, %v", setup, err)
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
		_, _, err := admissiontest.Load(admission.Made[labelRequired], text)
		if err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%.30s: %v", text, err)
		}
	}
}
