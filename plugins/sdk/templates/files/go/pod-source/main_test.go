package main

import (
	"reflect"
	"testing"

	"witlet.dev/plugin/v0_2/podsource"
)

func read(t *testing.T, config string) source {
	source, err := podsource.Decode[source](config)
	if err != nil {
		t.Fatal(err)
	}
	return source
}

func poll(t *testing.T, source source, cursor string) podsource.Poll {
	answer, err := source.Poll(cursor)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

func TestThePodsOfTheConfigurationAreItsPodsUntilTheyChange(t *testing.T) {
	source := read(t, `{"pods": [{"kind": "Pod", "metadata": {"name": "web"}}]}`)
	if err := podsource.Load(source, nil); err != nil {
		t.Fatal(err)
	}
	first := poll(t, source, "")
	if want := []string{`{"kind": "Pod", "metadata": {"name": "web"}}`}; first.Snapshot != "pods" || !reflect.DeepEqual(first.Manifests, want) {
		t.Errorf("%+v", first)
	}
	if second := poll(t, source, first.Cursor); second.Snapshot != "unchanged" || second.Cursor != first.Cursor {
		t.Errorf("%+v", second)
	}
	if third := poll(t, read(t, `{"pods": []}`), first.Cursor); third.Snapshot != "empty" || third.Cursor == first.Cursor {
		t.Errorf("%+v", third)
	}
}

func TestWhatIsNoPodIsRefused(t *testing.T) {
	for config, words := range map[string]string{
		`{}`: "pods: a list of manifests is needed",
		`{"pods": [{"kind": "Pod"}, {"kind": "Service"}]}`: "pods[1]: is no manifest of kind Pod",
		`{"pods": [{"kind": "Pod"}, "web"]}`:               "pods[1]: is no manifest of kind Pod",
	} {
		if err := podsource.Load(read(t, config), nil); err == nil || err.Error() != words {
			t.Errorf("%s: %v", config, err)
		}
	}
}
