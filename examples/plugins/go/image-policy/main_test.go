package main

import (
	"fmt"
	"testing"

	"witlet.dev/plugin/admission"
	"witlet.dev/plugin/admission/admissiontest"
)

// ask is the verdict on a pod with an init container and an app container.
func ask(t *testing.T, operation admission.Operation, setup, app string, config *config) admission.Verdict {
	pod := admissiontest.PodOf(fmt.Sprintf(`{"metadata": {"name": "web"}, "spec": {
		"initContainers": [{"name": "setup", "image": %q}], "containers": [{"name": "app", "image": %q}]}}`, setup, app))
	verdict, err := handler{}.Admit(admissiontest.Request{Operation: operation, Pod: pod}.Request(), config)
	if err != nil {
		t.Fatal(err)
	}
	return verdict
}

func rejected(reason, message string) admission.Verdict {
	return admission.Reject{Reason: reason, Message: message}
}

func TestPlacesAreMatchedInWholeParts(t *testing.T) {
	config := &config{Allow: []string{"docker.io/library", "registry.example.com"}}
	for image, want := range map[string]admission.Verdict{
		"nginx":                       admission.Admit{},
		"registry.example.com/a/b":    admission.Admit{},
		"team/app":                    rejected(notAllowed, `container "app": docker.io/team/app isn't allowed`),
		"registry.example.com.evil/a": rejected(notAllowed, `container "app": registry.example.com.evil/a isn't allowed`),
		"":                            rejected(notAllowed, `container "app": no image is named`),
	} {
		if got := ask(t, admission.Add, "nginx", image, config); got != want {
			t.Errorf("%s: %v", image, got)
		}
	}
}

func TestTheFirstContainerThatIsWrongIsReported(t *testing.T) {
	got := ask(t, admission.Add, "a.example/x", "b.example/x", &config{Allow: []string{"docker.io"}})
	if want := rejected(notAllowed, `container "setup": a.example/x isn't allowed`); got != want {
		t.Error(got)
	}
}

func TestADigestMayBeRequired(t *testing.T) {
	config := &config{Allow: []string{"docker.io"}, RequireDigest: true}
	want := rejected(notPinned, `container "app": docker.io/library/nginx isn't pinned by a digest`)
	if got := ask(t, admission.Add, "nginx@sha256:0", "nginx:1", config); got != want {
		t.Error(got)
	}
	if got := ask(t, admission.Add, "nginx@sha256:0", "nginx@sha256:1", config); got != (admission.Admit{}) {
		t.Error(got)
	}
}

func TestAResizeIsntChecked(t *testing.T) {
	if got := ask(t, admission.Resize, "a.example/x", "b.example/x", &config{Allow: []string{"docker.io"}}); got != (admission.Admit{}) {
		t.Error(got)
	}
}

func TestPlacesThatCanNeverMatchAreRefused(t *testing.T) {
	const slashes = "a place isn't empty and neither begins nor ends with a slash"
	for _, c := range []struct {
		allow []string
		words string
	}{
		{nil, "allow: must have at least one repository"},
		{[]string{"docker.io", ""}, "allow[1]: " + slashes},
		{[]string{"/library"}, "allow[0]: " + slashes},
		{[]string{"docker.io/"}, "allow[0]: " + slashes},
	} {
		if err := (handler{}).Validate(&config{Allow: c.allow}); err == nil || err.Error() != c.words {
			t.Errorf("%q: %v", c.allow, err)
		}
	}
	if err := (handler{}).Validate(&config{Allow: []string{"docker.io/library", "localhost:5000"}}); err != nil {
		t.Error(err)
	}
}

func TestReferencesAreReadAsRuntimesReadThem(t *testing.T) {
	for image, place := range map[string]string{
		"nginx":                     "docker.io/library/nginx",
		"nginx:1.27":                "docker.io/library/nginx",
		"team/app:1":                "docker.io/team/app",
		"localhost/web":             "localhost/web",
		"localhost:5000/a/web:2":    "localhost:5000/a/web",
		"Elsewhere/nginx":           "Elsewhere/nginx",
		"a.example/web:1@sha256:00": "a.example/web",
		"@sha256:00":                "docker.io/library/",
		"":                          "docker.io/library/",
	} {
		if got := parseReference(image); got.place != place || got.isPinned != (len(image) > 3 && image[len(image)-3:] == ":00") {
			t.Errorf("%s: %v", image, got)
		}
	}
}
