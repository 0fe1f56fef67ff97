//go:build !wasip1

package probe

import (
	"errors"
	"testing"
)

type plain struct{ Target }

type able struct{ Target }

func (able) RunCommand(command []string) (Ended, error) {
	return Ended{ExitCode: 3, Output: []byte(command[0])}, nil
}
func (able) OpenConnection(host string, _ uint16) (Connection, error) {
	return nil, &Error{Code: "Refused", Message: host}
}
func (able) OpenLoopbackConnection(uint16) (Connection, error) {
	return nil, &Error{Code: "NoNetwork", Message: "loopback"}
}

func TestATargetOfATestDoesWhatItHasMethodsFor(t *testing.T) {
	if ended, err := Run(able{}, "cat", "x"); err != nil || ended.ExitCode != 3 || string(ended.Output) != "cat" {
		t.Errorf("%v, %v", ended, err)
	}
	_, refused := Open(able{}, "web", 80)
	_, loopback := OpenLoopback(able{}, 80)
	_, failed := Run(plain{}, "cat")
	_, none := Open(plain{}, "web", 80)
	_, noLoopback := OpenLoopback(plain{}, 80)
	for i, want := range []struct {
		err  error
		code string
	}{{refused, "Refused"}, {loopback, "NoNetwork"}, {failed, "Failed"}, {none, "NoNetwork"}, {noLoopback, "NoNetwork"}} {
		if of := (*Error)(nil); !errors.As(want.err, &of) || of.Code != want.code {
			t.Errorf("%d: %v", i, want.err)
		}
	}
}
