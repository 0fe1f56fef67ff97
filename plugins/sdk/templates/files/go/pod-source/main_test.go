package main

import (
	"reflect"
	"testing"

	"witlet.dev/plugin"
	"witlet.dev/plugin/podsource"
)

func read(t *testing.T, text string) *config {
	config, err := plugin.Decode[config](text)
	if err != nil {
		t.Fatal(err)
	}
	return config
}

func TestThePodsOfTheConfigurationAreItsPodsUntilTheyChange(t *testing.T) {
	config := read(t, `{"pods": [{"kind": "Pod", "metadata": {"name": "web"}}]}`)
	if err := (source{}).Validate(config); err != nil {
		t.Fatal(err)
	}
	first, err := source{}.Poll("", config)
	want := podsource.Pods{`{"kind": "Pod", "metadata": {"name": "web"}}`}
	if !reflect.DeepEqual(first.Snapshot, want) || err != nil {
		t.Errorf("%v, %v", first, err)
	}
	second, err := source{}.Poll(first.Cursor, config)
	if second.Snapshot != (podsource.Unchanged{}) || second.Cursor != first.Cursor || err != nil {
		t.Errorf("%v, %v", second, err)
	}
	third, err := source{}.Poll(first.Cursor, read(t, `{"pods": []}`))
	if third.Snapshot != (podsource.Empty{}) || third.Cursor == first.Cursor || err != nil {
		t.Errorf("%v, %v", third, err)
	}
}

func TestWhatIsNoPodIsRefused(t *testing.T) {
	for text, words := range map[string]string{
		`{}`: "pods: a list of manifests is needed",
		`{"pods": [{"kind": "Pod"}, {"kind": "Service"}]}`: "pods[1]: is no manifest of kind Pod",
		`{"pods": [{"kind": "Pod"}, "web"]}`:               "pods[1]: is no manifest of kind Pod",
	} {
		if err := (source{}).Validate(read(t, text)); err == nil || err.Error() != words {
			t.Errorf("%s: %v", text, err)
		}
	}
}
