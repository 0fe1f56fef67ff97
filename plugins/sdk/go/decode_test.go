package plugin

import (
	"encoding/json"
	"strings"
	"testing"
)

type config struct {
	Label string   `json:"label"`
	Port  uint16   `json:"port"`
	Teams []string `json:"teams"`
	Deep  any      `json:"deep"`
	Limit struct {
		Max int `json:"max"`
	} `json:"limit"`
}

func TestWhatFitsIsDecoded(t *testing.T) {
	got, err := Decode[config](` {"label": "team", "port": 80, "teams": ["a"], "limit": {"max": 1}} `)
	if err != nil || got.Label != "team" || got.Port != 80 || got.Limit.Max != 1 || len(got.Teams) != 1 {
		t.Fatalf("%+v, %v", got, err)
	}
	for _, nothing := range []string{"null", "{}"} {
		if got, err := Decode[config](nothing); err != nil || got.Label != "" {
			t.Errorf("%s: %+v, %v", nothing, got, err)
		}
		if _, err := Decode[struct{}](nothing); err != nil {
			t.Errorf("%s: %v", nothing, err)
		}
	}
}

func TestWhatDoesntFitIsNamed(t *testing.T) {
	for text, words := range map[string]string{
		`{"lable": "team"}`:            "lable",
		`{"label": 1}`:                 "label: found number, expected a text",
		`{"port": 70000}`:              "port: found number 70000, expected a whole number (uint16)",
		`{"port": 1.5}`:                "port: found number 1.5, expected a whole number (uint16)",
		`{"teams": "a"}`:               "teams: found string, expected a list",
		`{"limit": {"max": "all"}}`:    "limit.max: found string, expected a whole number (int)",
		`[]`:                           "found array, expected an object",
		`{"label": `:                   "ends too early",
		``:                             "ends too early",
		`{} {}`:                        "something follows",
		`{"label": "a"`:                "ends too early",
		`{"label"; "a"}`:               "invalid character",
		strings.Repeat("[", 1_000_000): "in each other",
	} {
		if _, err := Decode[config](text); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%.40s: %v instead of %s", text, err, words)
		}
	}
	if _, err := Decode[struct{}](`{"label": "team"}`); err == nil {
		t.Error("a plugin without configuration takes none")
	}
}

type limits struct {
	Max int `json:"max,omitempty"`
}

type nested struct {
	limits
	List  []limits          `json:"list"`
	ByKey map[string]limits `json:"byKey"`
	Later *limits           `json:"later"`
	Raw   json.RawMessage   `json:"raw"`
	Any   any               `json:"any"`
	Plain string
}

func TestNamesOfFieldsAreExact(t *testing.T) {
	exact := `{"max": 1, "list": [{"max": 1}], "byKey": {"Max": {"max": 1}}, "later": {"max": 1}, "raw": {"MAX": 1}, "any": {"a": [{"B": 1}]}, "Plain": "a"}`
	if got, err := Decode[nested](exact); err != nil || got.Max != 1 || got.ByKey["Max"].Max != 1 {
		t.Fatalf("%+v, %v", got, err)
	}
	for text, words := range map[string]string{
		`{"Max": 1}`:                            `unknown field "Max", expected "max"`,
		`{"list": [{"max": 1}, {"MAX": 1}]}`:    `unknown field "list.MAX", expected "list.max"`,
		`{"byKey": {"a": {"mAx": 1}}}`:          `unknown field "byKey.a.mAx", expected "byKey.a.max"`,
		`{"later": {"max": 1, "Max": 2}}`:       `unknown field "later.Max", expected "later.max"`,
		`{"plain": "a"}`:                        `unknown field "plain", expected "Plain"`,
		`{"any": 1, "\u004cist": [], "max": 1}`: `unknown field "List", expected "list"`,
	} {
		if _, err := Decode[nested](text); err == nil || err.Error() != words {
			t.Errorf("%s: %v instead of %s", text, err, words)
		}
	}
}

func TestDepthIsCountedOutsideOfTexts(t *testing.T) {
	for text, want := range map[string]int{
		`1`:                             0,
		`[]`:                            1,
		`{"a": [1, {"b": 2}], "c": []}`: 3,
		`"[[["`:                         0,
		`["\"[[", "\\", [`:              2,
		`"`:                             0,
		`"\`:                            0,
		`]]][`:                          0,
	} {
		if got := Depth(text); got != want {
			t.Errorf("%s: %d instead of %d", text, got, want)
		}
	}
}
