//go:build !wasip1

package admission

import (
	"errors"
	"strings"
	"testing"
	"time"

	"witlet.dev/plugin/internal/abi"
)

type silent struct{}

func (silent) Validate(*struct{}) error                  { return nil }
func (silent) Admit(Request, *struct{}) (Verdict, error) { return nil, nil }

func TestAnExportRefusesWhatItDoesntTake(t *testing.T) {
	defer func(old calls) { exported = old }(exported)
	if err := exported.validate("null"); !errors.Is(err, errNone) {
		t.Errorf("%v", err)
	}
	Export(silent{})
	if err := exported.validate("null"); err != nil {
		t.Errorf("%v", err)
	}
	if err := exported.validate(`{"label": 1}`); err == nil || !strings.Contains(err.Error(), "label") {
		t.Errorf("%v", err)
	}
	if verdict, err := exported.admit(nil); verdict != nil || err == nil {
		t.Errorf("%v, %v", verdict, err)
	}
}

func TestVerdictsLieWhereTheContractSays(t *testing.T) {
	if at := encode(Admit{}, nil); abi.Flag(at) != 0 || abi.Flag(at+8) != 0 {
		t.Error("admit")
	}
	if at := encode(nil, errors.New("no idea")); abi.Flag(at) != 1 || abi.Text(at+8) != "no idea" {
		t.Error("an error")
	}
	at := encode(Reject{Reason: "No", Message: "never"}, nil)
	if abi.Flag(at+8) != 1 || abi.Text(at+16) != "No" || abi.Text(at+24) != "never" {
		t.Error("reject")
	}
	at = encode(Defer{Reason: "No", Message: "later", RetryAfter: 1500 * time.Microsecond}, nil)
	if abi.Flag(at+8) != 2 || abi.Text(at+24) != "later" || abi.U64(at+32) != 1 {
		t.Error("defer")
	}
	if at := encode(Defer{RetryAfter: -time.Second}, nil); abi.U64(at+32) != 0 {
		t.Error("a time that is over")
	}
	at = encode(Shortages{{Resource: "cpu", Requested: 1, Used: 2, Capacity: -3}, {Resource: "memory"}}, nil)
	first := abi.U32(at + 16)
	if abi.Flag(at+8) != 3 || abi.U32(at+20) != 2 || abi.Text(first) != "cpu" || abi.Text(first+32) != "memory" {
		t.Error("shortages")
	}
	if abi.U64(first+8) != 1 || abi.U64(first+16) != 2 || int64(abi.U64(first+24)) != -3 {
		t.Error("a shortage")
	}
}

func TestAVerdictOfAnotherTypeIsAnError(t *testing.T) {
	type named struct{ Reject }
	for words, verdict := range map[string]Verdict{
		"unknown verdict type *admission.Reject": &Reject{Reason: "No"},
		"unknown verdict type admission.named":   named{Reject{Reason: "No"}},
		"unknown verdict type *admission.Defer":  (*Defer)(nil),
	} {
		if at := encode(verdict, nil); abi.Flag(at) != 1 || abi.Text(at+8) != words {
			t.Errorf("%T: %d, %s", verdict, abi.Flag(at), abi.Text(at+8))
		}
	}
}
