//go:build !wasip1

package host

import (
	"errors"
	"testing"
)

func TestATestStandsForTheHost(t *testing.T) {
	TestNode = Node{Name: "edge-1", Labels: map[string]string{"disk": "ssd"}, Allocatable: map[string]int64{"cpu": 4000}}
	TestFeatures["shadow"] = true
	defer func() { TestNode, TestFeatures = Node{}, map[string]bool{} }()
	name, isKnown := NodeName()
	disk, _ := NodeLabel("disk")
	cpu, _ := NodeAllocatable("cpu")
	if name != "edge-1" || !isKnown || disk != "ssd" || cpu != 4000 || !HasFeature("shadow") || HasFeature("teleport") || !LogEnabled(Trace) {
		t.Error(name, disk, cpu)
	}
	if _, ok := NodeZone(); ok || len(NodeAddresses()) != 0 || len(NodeLabels()) != 1 {
		t.Error("nothing else is there")
	}
}

func TestAnErrorHasDetails(t *testing.T) {
	kept := Kept(&Failure{Code: "NoTable", Details: map[string]string{"rows": "7"}})
	if rows, ok := kept.Detail("rows"); kept.Code != "NoTable" || rows != "7" || !ok {
		t.Errorf("%+v", kept)
	}
	if _, ok := kept.Detail("none"); ok || Kept(errors.New("it broke")).Code != "Failed" {
		t.Error("another error has the code Failed, and no details")
	}
}
