package admissiontest

import (
	"encoding/json"
	"os"
	"reflect"
	"strconv"
	"testing"

	"witlet.dev/plugin/v0_2/admission"
)

// what is seen of an option: nil if there is nothing.
func maybe[T any](value T, ok bool) any {
	if !ok {
		return nil
	}
	return value
}

func ofImage(image admission.Image) []any {
	parts := []any{maybe(image.Registry()), maybe(image.Repository()), maybe(image.Tag()), maybe(image.Digest())}
	return append([]any{image.Reference(), image.Place(), image.Name()}, parts...)
}

type requesting interface {
	Resources() []string
	Request(resource string) (int64, bool)
	Limit(resource string) (int64, bool)
}

func ofAmounts(of requesting) []any {
	all := []any{}
	for _, name := range of.Resources() {
		all = append(all, []any{name, maybe(of.Request(name)), maybe(of.Limit(name))})
	}
	return all
}

// each is a list of what is seen of things, which isn't null where there are none.
func each[T any](things []T, of func(thing T) []any) []any {
	all := []any{}
	for _, thing := range things {
		all = append(all, of(thing))
	}
	return all
}

func ofContainer(it admission.Container) map[string]any {
	own := func(text string) []any { return []any{text} }
	flat := func(texts []string) []any {
		all := []any{}
		for _, text := range each(texts, own) {
			all = append(all, text.([]any)[0])
		}
		return all
	}
	return map[string]any{
		"name":         []any{it.Name(), it.Kind(), it.Place(), it.PullPolicy()},
		"amounts":      ofAmounts(it),
		"flags":        []any{it.Privileged(), it.RunAsNonRoot(), it.AllowPrivilegeEscalation(), it.ReadOnlyRootFilesystem()},
		"users":        []any{maybe(it.RunAsUser()), maybe(it.RunAsGroup())},
		"profiles":     []any{maybe(it.SeccompProfile()), maybe(it.AppArmorProfile())},
		"capabilities": []any{flat(it.AddedCapabilities()), flat(it.DroppedCapabilities())},
		"env":          flat(it.EnvNames()),
		"ports": each(it.Ports(), func(port admission.ContainerPort) []any {
			return []any{port.Name(), port.Number(), port.Protocol(), maybe(port.HostPort())}
		}),
		"mounts": each(it.Mounts(), func(mount admission.Mount) []any {
			return []any{mount.Volume(), mount.Path(), mount.SubPath(), mount.ReadOnly(), mount.IsDevice()}
		}),
	}
}

func seenOf(pod admission.Pod) map[string]any {
	containers := []any{}
	for _, container := range pod.Containers() {
		containers = append(containers, ofContainer(container))
	}
	return map[string]any{
		"account": []any{pod.ServiceAccount(), strconv.FormatBool(pod.HasServiceAccountToken())},
		"qos":     pod.QOS(),
		"amounts": ofAmounts(pod),
		"images":  each(pod.Images(), ofImage),
		"volumes": each(pod.Volumes(), func(volume admission.Volume) []any {
			return []any{volume.Name(), volume.Kind(), maybe(volume.HostPath())}
		}),
		"hostPorts": each(pod.HostPorts(), func(port admission.HostPort) []any {
			return []any{maybe(port.Address()), port.Protocol(), port.Number()}
		}),
		"containers": containers,
	}
}

// What manifests say is what the host says, by a file to which the host and the SDKs of all languages are held.
func TestManifestsAreReadAsTheHostReadsPods(t *testing.T) {
	text, err := os.ReadFile("testdata/manifests.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Name     string
		Manifest json.RawMessage
		Seen     any
	}
	if err := json.Unmarshal(text, &cases); err != nil || len(cases) == 0 {
		t.Fatalf("%d cases, %v", len(cases), err)
	}
	for _, c := range cases {
		var found any
		if err := json.Unmarshal([]byte(written(seenOf(PodOf(string(c.Manifest))))), &found); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(found, c.Seen) {
			t.Errorf("%s:\nfound    %s\nexpected %s", c.Name, written(found), written(c.Seen))
		}
	}
}

func TestQuantitiesAreRoundedAwayFromZero(t *testing.T) {
	for text, want := range map[string]int64{
		"1": 1000, "100m": 100, "1u": 1, "-1u": -1, "1.5k": 1_500_000, "1Ki": 1_024_000, "1e3": 1_000_000, "1E-3": 1, ".5": 500, "5.": 5000,
		"n": 0, "": 0, "1 ": 0, "1KiB": 0, "1..2": 0, "100E": 1<<63 - 1, "-100E": -1 << 63,
	} {
		if got := amount("cpu", text); got != want {
			t.Errorf("%q: %d, expected %d", text, got, want)
		}
	}
	if got := amount("memory", json.Number("1.5")); got != 2 {
		t.Error(got)
	}
}

func TestANodeIsSeenWithThePodsThatAreOnIt(t *testing.T) {
	request := Request{
		Node: `{"metadata": {"name": "n1", "labels": {"disk": "fast"}}, "spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]}, "status": {
			"capacity": {"cpu": "4"}, "allocatable": {"cpu": "3"}, "conditions": [{"type": "Ready", "status": "True", "reason": "Up"}]}}`,
		OtherPods: []string{`{"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}, "ports": [
			{"containerPort": 53, "hostPort": 53, "hostIP": "10.0.0.1", "protocol": "UDP"}, {"containerPort": 80}]}]}}`},
		Facts: map[string]string{"os": "linux"},
		Used:  map[string]int64{"memory": 7},
	}
	node := request.Request().Node()
	label, _ := node.Label("disk")
	fact, _ := node.Fact("os")
	_, isKnown := node.Fact("arch")
	available, _ := node.Available("cpu")
	_, has := node.Available("none")
	used, _ := node.Used("memory")
	_, isMeasured := node.Used("cpu")
	ready, _ := node.Condition("Ready")
	address, _ := node.UsedHostPorts()[0].Address()
	found := []any{
		node.Name(), label, fact, isKnown, node.Requested("cpu"), available, has, used, isMeasured, node.Requested("pods"), len(node.Resources()),
		ready.Status(), ready.Reason(), ready.Message(), address, node.Taints()[0].Effect(), node.Devices(),
	}
	want := []any{
		"n1", "fast", "linux", false, int64(1000), int64(2000), false, int64(7), false, int64(1), 2, "True", "Up", "", "10.0.0.1", "NoSchedule", "[]",
	}
	if !reflect.DeepEqual(found, want) {
		t.Errorf("%v", found)
	}
}
