package main

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"witlet.dev/plugin/v0_2/podsource"
	"witlet.dev/plugin/v0_2/podsource/feedback"
)

const pod = `{"kind": "Pod", "metadata": {"name": "web"}}`

func poll(t *testing.T, path, cursor string) podsource.Poll {
	answer, err := folder{path}.Poll(cursor)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

func write(t *testing.T, path, name, contents string) {
	if err := os.WriteFile(filepath.Join(path, name), []byte(contents), 0o600); err != nil {
		t.Fatal(err)
	}
}

// refused is why a folder isn't taken.
func refused(t *testing.T, path string) *podsource.Error {
	var refused *podsource.Error
	if _, err := (folder{path}).Poll(""); !errors.As(err, &refused) {
		t.Fatalf("%v", err)
	}
	return refused
}

func TestFilesComeAndChangeAndGo(t *testing.T) {
	path := t.TempDir()
	nothing := poll(t, path, "")
	if nothing.Snapshot != "empty" || poll(t, path, nothing.Cursor).Snapshot != "unchanged" {
		t.Errorf("%v", nothing)
	}
	write(t, path, "b.json", pod)
	write(t, path, "a.json", `{"kind": "Pod"}`)
	write(t, path, ".hidden.json", "half")
	both := poll(t, path, nothing.Cursor)
	if !reflect.DeepEqual(both.Manifests, []string{`{"kind": "Pod"}`, pod}) || both.Snapshot != "pods" {
		t.Errorf("%v", both)
	}
	if again := poll(t, path, both.Cursor); again.Snapshot != "unchanged" || again.Cursor != both.Cursor {
		t.Errorf("%v", again)
	}
}

func TestAFileThatIsNoPodIsAnErrorThatNamesIt(t *testing.T) {
	for contents, problem := range map[string]string{
		`{"kind": "Po`:                      "web.json: ",
		"null":                              "web.json: it is no object of kind Pod",
		`{"kind": "Service"}`:               "web.json: it is no object of kind Pod",
		"{\"kind\": \"\xff\"}":              "web.json: it isn't UTF-8",
		strings.Repeat("[", 100_000):        "web.json: more than 128 objects and lists are in each other",
		strings.Repeat(" ", fileBytesMax+1): "web.json: must have at most 1048576 bytes",
	} {
		path := t.TempDir()
		write(t, path, "web.json", contents)
		if got := refused(t, path); got.Code != "Invalid" || !strings.HasPrefix(got.Message, problem) {
			t.Errorf("%.20q: %v", contents, got)
		}
	}
	if got := refused(t, filepath.Join(t.TempDir(), "gone")); got.Code != "Unavailable" || !strings.Contains(got.Message, "gone") {
		t.Errorf("%v", got)
	}
}

func TestARelativeFolderIsRefused(t *testing.T) {
	if err := (folder{"pods"}).Validate(nil); err == nil || err.Error() != "folder: must be an absolute path" {
		t.Errorf("%v", err)
	}
}

func TestPodsThatArentRunAreLogged(t *testing.T) {
	var lines bytes.Buffer
	defer slog.SetDefault(slog.Default())
	slog.SetDefault(slog.New(slog.NewTextHandler(&lines, nil)))
	news := []feedback.Change{
		{Kind: "left-out", Namespace: "default", Name: "web", Reason: "PodForbidden", Message: "no"}, {Kind: "status", Phase: "Running"},
	}
	if err := (folder{"/pods"}).Notify(news); err != nil {
		t.Error(err)
	}
	if got := lines.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "pod default/web isn't run: PodForbidden: no") {
		t.Error(got)
	}
}
