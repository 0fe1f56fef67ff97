//go:build !wasip1

package probe

import (
	"errors"
	"strings"
	"testing"

	"witlet.dev/plugin/internal/abi"
)

type parameters struct {
	Port uint16 `json:"port"`
}

type prober struct{ outcome Outcome }

func (prober) Validate(*struct{}) error { return nil }

func (prober) CheckParameters(parameters *parameters, _ *struct{}) error {
	if parameters.Port == 0 {
		return errors.New("port: may not be 0")
	}
	return nil
}

func (p prober) Probe(Target, *parameters, *struct{}) (Outcome, error) { return p.outcome, nil }

func TestAnExportRefusesWhatItDoesntTake(t *testing.T) {
	defer func(old calls) { exported = old }(exported)
	if err := exported.checkParameters("null"); !errors.Is(err, errNone) {
		t.Errorf("%v", err)
	}
	Export(prober{})
	for text, words := range map[string]string{
		"null": "port: may not be 0", `{"port": 80}`: "", `{"prot": 80}`: "prot", `{"port": "http"}`: "a whole number",
	} {
		switch err := exported.checkParameters(text); {
		case words == "" && err == nil:
		case err == nil || !strings.Contains(err.Error(), words) || words == "":
			t.Errorf("%s: %v", text, err)
		}
	}
	if err := exported.validate(`{"port": 80}`); err == nil {
		t.Error("it takes no configuration")
	}
	if _, err := exported.probe(nil, `{"prot": 80}`); err == nil {
		t.Error("a probe refuses them, too")
	}
	if outcome, err := exported.probe(nil, "null"); outcome != nil || err == nil {
		t.Errorf("%v, %v", outcome, err)
	}
	Export(prober{Success("yes")})
	if outcome, err := exported.probe(nil, "null"); outcome != Success("yes") || err != nil {
		t.Errorf("%v, %v", outcome, err)
	}
}

func TestOutcomesLieWhereTheContractSays(t *testing.T) {
	for number, outcome := range []Outcome{Success("text"), Warning("text"), Failure("text")} {
		at := encode(outcome, nil)
		if abi.Flag(at) != 0 || int(abi.Flag(at+4)) != number || abi.Text(at+8) != "text" {
			t.Errorf("%T", outcome)
		}
	}
	if at := encode(nil, errors.New("no idea")); abi.Flag(at) != 1 || abi.Text(at+4) != "no idea" {
		t.Error("an error")
	}
}

func TestAnOutcomeOfAnotherTypeIsAnError(t *testing.T) {
	failed := Failure("no")
	type named struct{ Failure }
	for words, outcome := range map[string]Outcome{
		"unknown outcome type *probe.Failure": &failed,
		"unknown outcome type probe.named":    named{failed},
		"unknown outcome type *probe.Warning": (*Warning)(nil),
	} {
		if at := encode(outcome, nil); abi.Flag(at) != 1 || abi.Text(at+4) != words {
			t.Errorf("%T: %d, %s", outcome, abi.Flag(at), abi.Text(at+4))
		}
	}
}
