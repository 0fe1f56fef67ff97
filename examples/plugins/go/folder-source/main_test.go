package main

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"witlet.dev/plugin/podsource"
)

const pod = `{"kind": "Pod", "metadata": {"name": "web"}}`

func poll(t *testing.T, folder, cursor string) podsource.Poll {
	answer, err := source{}.Poll(cursor, &config{folder})
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

func write(t *testing.T, folder, name, contents string) {
	if err := os.WriteFile(filepath.Join(folder, name), []byte(contents), 0o600); err != nil {
		t.Fatal(err)
	}
}

// refused is why a folder isn't taken.
func refused(t *testing.T, folder string) *podsource.Error {
	var refused *podsource.Error
	if _, err := (source{}).Poll("", &config{folder}); !errors.As(err, &refused) {
		t.Fatalf("%v", err)
	}
	return refused
}

func TestFilesComeAndChangeAndGo(t *testing.T) {
	folder := t.TempDir()
	nothing := poll(t, folder, "")
	if nothing.Snapshot != (podsource.Empty{}) {
		t.Errorf("%v", nothing)
	}
	if again := poll(t, folder, nothing.Cursor); again.Snapshot != (podsource.Unchanged{}) {
		t.Errorf("%v", again)
	}
	write(t, folder, "b.json", pod)
	write(t, folder, "a.json", `{"kind": "Pod"}`)
	both := poll(t, folder, nothing.Cursor)
	if !reflect.DeepEqual(both.Snapshot, podsource.Pods{`{"kind": "Pod"}`, pod}) {
		t.Errorf("%v", both)
	}
	if again := poll(t, folder, both.Cursor); again.Snapshot != (podsource.Unchanged{}) || again.Cursor != both.Cursor {
		t.Errorf("%v", again)
	}
	if err := os.Remove(filepath.Join(folder, "a.json")); err != nil {
		t.Fatal(err)
	}
	if one := poll(t, folder, both.Cursor); !reflect.DeepEqual(one.Snapshot, podsource.Pods{pod}) {
		t.Errorf("%v", one)
	}
}

func TestWhatIsntAVisibleJSONFileOfTheFolderIsLeftOut(t *testing.T) {
	folder := t.TempDir()
	for _, name := range []string{".web.json", "web.yaml", "web.json.swp", "README"} {
		write(t, folder, name, "no pod")
	}
	if err := os.Mkdir(filepath.Join(folder, "folder.json"), 0o700); err != nil {
		t.Fatal(err)
	}
	if got := poll(t, folder, ""); got.Snapshot != (podsource.Empty{}) {
		t.Errorf("%v", got)
	}
}

func TestAFileThatIsNoPodIsAnErrorThatNamesIt(t *testing.T) {
	for contents, problem := range map[string]string{
		"":                                  "web.json: ",
		"[]":                                "web.json: ",
		`{"kind": "Po`:                      "web.json: ",
		"null":                              "web.json: it is no object of kind Pod",
		`{"kind": "Service"}`:               "web.json: it is no object of kind Pod",
		`{"Kind": "Pod"}`:                   "web.json: it is no object of kind Pod",
		`{"kind": ["Pod"]}`:                 "web.json: it is no object of kind Pod",
		"{\"kind\": \"\xff\"}":              "web.json: it isn't UTF-8",
		strings.Repeat("[", 100_000):        "web.json: more than 128 objects and lists are in each other",
		strings.Repeat(" ", fileBytesMax+1): "web.json: must have at most 1048576 bytes",
	} {
		folder := t.TempDir()
		write(t, folder, "web.json", contents)
		if got := refused(t, folder); got.Reason != "Invalid" || !strings.HasPrefix(got.Message, problem) {
			t.Errorf("%.20q: %v", contents, got)
		}
	}
}

func TestAFolderThatIsntThereIsNoEmptyFolder(t *testing.T) {
	got := refused(t, filepath.Join(t.TempDir(), "gone"))
	if got.Reason != "Unavailable" || !strings.Contains(got.Message, "gone") {
		t.Errorf("%v", got)
	}
}

func TestARelativeFolderIsRefused(t *testing.T) {
	if err := (source{}).Validate(&config{"pods"}); err == nil || err.Error() != "folder: must be an absolute path" {
		t.Errorf("%v", err)
	}
}
