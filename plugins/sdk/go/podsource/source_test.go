//go:build !wasip1

package podsource

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"witlet.dev/plugin/internal/abi"
)

type source struct{ poll Poll }

func (source) Validate(*struct{}) error               { return nil }
func (s source) Poll(string, *struct{}) (Poll, error) { return s.poll, nil }

func TestASourceThatSaysNothingIsAnError(t *testing.T) {
	defer func(old calls) { exported = old }(exported)
	if _, err := exported.poll(""); !errors.Is(err, errNone) {
		t.Errorf("%v", err)
	}
	Export(source{})
	if _, err := exported.poll(""); err == nil {
		t.Error("it has neither a snapshot nor an error")
	}
	Export(source{Poll{Snapshot: Empty{}}})
	if poll, err := exported.poll(""); poll.Snapshot != (Empty{}) || err != nil {
		t.Errorf("%v, %v", poll, err)
	}
	if err := exported.validate(`{"folder": "/pods"}`); err == nil {
		t.Error("it takes no configuration")
	}
}

func TestAnswersLieWhereTheContractSays(t *testing.T) {
	at := encode(Poll{Snapshot: All([]string{"a", "b"}), Cursor: "c-1", NextPoll: 2500 * time.Millisecond}, nil)
	if abi.Flag(at) != 0 || abi.Flag(at+8) != 1 || abi.U32(at+16) != 2 || abi.Text(abi.U32(at+12)+8) != "b" {
		t.Error("pods")
	}
	if cursor, there := abi.OptionalText(at + 20); cursor != "c-1" || !there {
		t.Error("the cursor")
	}
	if abi.Flag(at+32) != 1 || abi.U64(at+40) != 2500 {
		t.Error("the next poll")
	}
	at = encode(Poll{Snapshot: All(nil)}, nil)
	if abi.Flag(at+8) != 2 || abi.Flag(at+20) != 0 || abi.Flag(at+32) != 0 {
		t.Error("no pods, no cursor, no wish")
	}
	if at = encode(Poll{Snapshot: Unchanged{}}, nil); abi.Flag(at+8) != 0 {
		t.Error("unchanged")
	}
}

func TestErrorsHaveAReason(t *testing.T) {
	invalid := Errorf("Invalid", "%s is no pod", "web.json")
	for _, c := range []struct {
		err             error
		reason, message string
		retry           uint64
	}{
		{invalid, "Invalid", "web.json is no pod", 0},
		{fmt.Errorf("folder /pods: %w", invalid), "Invalid", "folder /pods: web.json is no pod", 0},
		{&Error{Reason: "Denied", Message: "no", RetryAfter: 7 * time.Second}, "Denied", "no", 7000},
		{errors.New("the link is down"), "Unavailable", "the link is down", 0},
	} {
		at := encode(Poll{}, c.err)
		if abi.Flag(at) != 1 || abi.Text(at+8) != c.reason || abi.Text(at+16) != c.message {
			t.Errorf("%v: %s, %s", c.err, abi.Text(at+8), abi.Text(at+16))
		}
		if (abi.Flag(at+24) == 1) != (c.retry > 0) || abi.U64(at+32) != c.retry {
			t.Errorf("%v: %d", c.err, abi.U64(at+32))
		}
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

func TestASnapshotOfAnotherTypeIsAnError(t *testing.T) {
	type named struct{ Pods }
	for words, snapshot := range map[string]Snapshot{
		"unknown snapshot type *podsource.Pods":  &Pods{"a"},
		"unknown snapshot type podsource.named":  named{Pods{"a"}},
		"unknown snapshot type *podsource.Empty": (*Empty)(nil),
	} {
		at := encode(Poll{Snapshot: snapshot, Cursor: "c"}, nil)
		if abi.Flag(at) != 1 || abi.Text(at+8) != "Invalid" || abi.Text(at+16) != words {
			t.Errorf("%T: %d, %s", snapshot, abi.Flag(at), abi.Text(at+16))
		}
	}
}
