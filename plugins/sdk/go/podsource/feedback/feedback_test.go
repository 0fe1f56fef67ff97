//go:build !wasip1

package feedback

import (
	"errors"
	"slices"
	"testing"

	"witlet.dev/plugin/internal/abi"
)

type feedback struct{ seen []PodStatus }

func (f *feedback) Statuses(changed []PodStatus, _ *struct{}) error {
	f.seen = changed
	return errors.New("not now")
}

func TestStatusesAreReadAndHandedOver(t *testing.T) {
	want := []PodStatus{
		{Namespace: "shop", Name: "web", UID: "uid-1", Status: `{"phase":"Running"}`},
		{Namespace: "shop", Name: "gone", UID: "uid-2"},
	}
	var e abi.Encoder
	e.Begin(8)
	first := e.List(0, len(want), 36)
	for i, status := range want {
		at := first + uint32(i)*36
		e.Text(at, status.Namespace)
		e.Text(at+8, status.Name)
		e.Text(at+16, status.UID)
		e.OptionalText(at+24, status.Status, status.Status != "")
	}
	at := e.Address()
	got := readStatuses(abi.U32(at), abi.U32(at+4))
	if !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}

	defer func(old func([]PodStatus) error) { exported = old }(exported)
	if exported(got) == nil {
		t.Error("there is none yet")
	}
	received := &feedback{}
	Export(received)
	if err := exported(got); err == nil || err.Error() != "not now" || !slices.Equal(received.seen, want) {
		t.Errorf("%v, %v", received.seen, err)
	}
}
