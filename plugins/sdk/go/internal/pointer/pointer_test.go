package pointer

import "testing"

func TestLookup(t *testing.T) {
	const pod = `{"metadata":{"labels":{"a/b":"1","c~d":"2"}},"spec":{"containers":[{"name":"app"}],"none":null}}`
	for path, want := range map[string]string{
		"":                          pod,
		"/metadata/labels/a~1b":     `"1"`,
		"/metadata/labels/c~0d":     `"2"`,
		"/spec/containers/0/name":   `"app"`,
		"/spec/none":                `null`,
		"/spec/containers/1":        "",
		"/spec/containers/00":       "",
		"/spec/containers/-1":       "",
		"/spec/containers/0/name/0": "",
		"/nowhere":                  "",
		"metadata":                  "",
	} {
		if got, ok := Lookup(pod, path); got != want || ok != (want != "") {
			t.Errorf("%s: %q, %v", path, got, ok)
		}
	}
	if _, ok := Lookup("", ""); ok {
		t.Error("nothing has nothing")
	}
}
