//go:build !wasip1

package podsource

import (
	"errors"
	"testing"
	"time"

	"witlet.dev/plugin/v0_2/internal/contract"
)

type folder struct {
	Folder string `json:"folder"`
}

func (f folder) Poll(cursor string) (Poll, error) {
	if f.Folder == cursor {
		return Unchanged(), nil
	}
	return All([]string{f.Folder}).At(f.Folder).After(time.Second), nil
}

func (f folder) Validate(warn func(string)) error {
	warn("of " + f.Folder)
	if f.Folder == "" {
		return Invalid("folder", "is empty")
	}
	return nil
}

func code(err error) string {
	if of := (*Error)(nil); errors.As(err, &of) {
		return of.Code
	}
	return ""
}

func TestASourceIsMadeOfItsConfiguration(t *testing.T) {
	defer func(old func(string) (any, error)) { contract.Exported = old }(contract.Exported)
	contract.Exported = nil
	if _, err := exported("{}"); err == nil {
		t.Error("there is none yet")
	}
	Export[folder]()
	source, err := exported(`{"folder": "/pods"}`)
	if err != nil {
		t.Fatal(err)
	}
	poll, err := source.Poll("")
	if err != nil || poll.Snapshot != "pods" || poll.Manifests[0] != "/pods" || poll.Cursor != "/pods" || poll.NextPoll != time.Second {
		t.Errorf("%+v, %v", poll, err)
	}
	if again, _ := source.Poll("/pods"); again.Snapshot != "unchanged" || again.Cursor != "" {
		t.Errorf("%+v", again)
	}
	if _, err := exported(`{"folders": 1}`); code(err) != "InvalidConfiguration" {
		t.Errorf("%v", err)
	}
}

func TestAConfigurationIsCheckedAndWarnedOf(t *testing.T) {
	warned := ""
	if err := Load(folder{"/pods"}, func(message string) { warned = message }); err != nil || warned != "of /pods" {
		t.Errorf("%q, %v", warned, err)
	}
	if err := Load(folder{}, func(string) {}); code(err) != "InvalidConfiguration" || err.Error() != "folder: is empty" {
		t.Errorf("%v", err)
	}
}

func TestNoPodsAreEmpty(t *testing.T) {
	if All(nil).Snapshot != "empty" || code(Errorf("Denied", "no %s", "key")) != "Denied" {
		t.Error("no pods, and an error with a code")
	}
}

func TestAFingerprintKeepsPartsApart(t *testing.T) {
	// The same as the SDK's in Rust.
	if got := Fingerprint("web.json", `{"kind": "Pod"}`); got != "1bdbf9b58958e369" {
		t.Error(got)
	}
	if Fingerprint("ab", "c") == Fingerprint("a", "bc") {
		t.Error("the same text cut elsewhere is another one")
	}
}
