//go:build !wasip1

package feedback

import (
	"errors"
	"slices"
	"testing"

	"witlet.dev/plugin/v0_2/internal/contract"
)

type receiver struct{ seen *[]Change }

func (r receiver) Notify(news []Change) error {
	*r.seen = news
	return errors.New("not now")
}

func TestNewsAreHandedOver(t *testing.T) {
	defer func(old func(string) (any, error)) { contract.Exported = old }(contract.Exported)
	contract.Exported = nil
	if Reported("{}", nil) == nil {
		t.Error("there is none yet")
	}
	var seen []Change
	contract.Exported = func(string) (any, error) { return receiver{&seen}, nil }
	want := []Change{{Kind: "status", Name: "web", Phase: "Running"}, {Kind: "gone", Name: "db"}}
	if err := Reported("{}", want); err == nil || err.Error() != "not now" || !slices.Equal(seen, want) {
		t.Errorf("%v, %v", seen, err)
	}
	contract.Exported = func(string) (any, error) { return struct{}{}, nil }
	if Reported("{}", want) == nil {
		t.Error("it receives nothing")
	}
}
