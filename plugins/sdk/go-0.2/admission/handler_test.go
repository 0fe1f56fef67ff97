package admission_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"witlet.dev/plugin/v0_2/admission"
	"witlet.dev/plugin/v0_2/admission/admissiontest"
)

// owned: pods have an owner's label.
type owned struct {
	Label string `json:"label"`
}

func (owned) Subscribes() []string { return []string{"add"} }

func (o owned) Validate(setup admission.Setup) error {
	if o.Label == "" {
		return admission.Invalid("label", "name one")
	}
	if !strings.Contains(o.Label, "/") {
		setup.Warn("a label without a prefix is everyone's")
	}
	return nil
}

func (o owned) Admit(request admission.Request) (admission.Verdict, error) {
	if owner, ok := request.Pod().Label(o.Label); ok {
		return admission.Admit().Annotate("owner", owner), nil
	}
	return admission.Reject("NoOwner", "the pod has no label %s", o.Label), nil
}

type open struct{}

func (open) Admit(admission.Request) (admission.Verdict, error) { return admission.Admit(), nil }

func TestAHandlerIsLoadedAndAsked(t *testing.T) {
	handler, setup, err := admissiontest.Load(admission.Made[owned], `{"label": "team"}`)
	if err != nil {
		t.Fatal(err)
	}
	want := &admissiontest.Setup{Subscribed: []string{"add"}, Warnings: []string{"a label without a prefix is everyone's"}}
	if !reflect.DeepEqual(setup, want) {
		t.Errorf("%v", setup)
	}
	verdict, err := handler.Admit(admissiontest.Request{Pod: `{"metadata": {"labels": {"team": "shop"}}}`}.Request())
	if err != nil || !reflect.DeepEqual(verdict, admission.Admit().Annotate("owner", "shop")) {
		t.Errorf("%v, %v", verdict, err)
	}
	verdict, err = handler.Admit(admissiontest.Request{}.Request())
	if err != nil || !reflect.DeepEqual(verdict, admission.Reject("NoOwner", "the pod has no label team")) {
		t.Errorf("%v, %v", verdict, err)
	}
}

func TestWhatIsWrongIsRefusedByName(t *testing.T) {
	policies := admission.OneOf(map[string]admission.Maker{"owned": admission.Made[owned], "open": admission.Made[open]})
	for config, words := range map[string]string{
		`{"policy": "owned"}`:                                "label: name one",
		`{"policy": "owned", "label": 1}`:                    "label: found number",
		`{"policy": "owned", "label": "a", "lable": "team"}`: `unknown field "lable"`,
		`{"policy": "open", "allow": []}`:                    `unknown field "allow"`,
		`{"policy": "shut"}`:                                 `policy: "shut" is none of open, owned`,
		`{}`:                                                 "policy: ",
		`[]`:                                                 "must be an object",
	} {
		_, _, err := admissiontest.Load(policies, config)
		if of := (*admission.Error)(nil); !errors.As(err, &of) || of.Code != "InvalidConfiguration" || !strings.Contains(of.Message, words) {
			t.Errorf("%s: %v", config, err)
		}
	}
	if _, setup, err := admissiontest.Load(policies, `{"policy": "open"}`); err != nil || len(setup.Subscribed) != 3 {
		t.Errorf("%v, %v", setup, err)
	}
}

func TestThingsAreNamedInMessages(t *testing.T) {
	pod := admissiontest.PodOf(`{
		"metadata": {"ownerReferences": [{"kind": "A", "name": "a"}, {"kind": "B", "name": "b", "controller": true}]},
		"spec": {
			"initContainers": [{"name": "setup"}, {"name": "proxy", "restartPolicy": "Always"}],
			"containers": [{"name": "app", "image": "nginx", "command": ["a", "b"]}],
			"ephemeralContainers": [{"name": "de\"bug"}], "volumes": [{"name": "data"}]
		}}`)
	found := []string{pod.Images()[2].String(), pod.Volumes()[0].String()}
	for _, container := range pod.Containers() {
		found = append(found, container.String())
	}
	want := []string{
		`image "docker.io/library/nginx:latest" (spec.containers[0].image)`, `volume "data"`,
		`init container "setup"`, `sidecar "proxy"`, `container "app"`, `ephemeral container "de\"bug"`,
	}
	if !reflect.DeepEqual(found, want) {
		t.Errorf("%q", found)
	}
	for place, want := range map[string]bool{"docker.io": true, "docker.io/library": true, "docker.io/lib": false, "docker": false} {
		if admission.IsWithin(pod.Images()[2], place) != want {
			t.Error(place)
		}
	}
	if owner, ok := admission.Controller(pod); !ok || owner.Name() != "b" {
		t.Errorf("%v", owner)
	}
	if command, ok, err := admission.At[[]string](pod.Containers()[2], "/command"); !ok || err != nil || len(command) != 2 {
		t.Errorf("%v, %v", command, err)
	}
	if _, ok, err := admission.At[int](pod.Containers()[2], "/command"); ok || err == nil {
		t.Error("a list is no number")
	}
}
