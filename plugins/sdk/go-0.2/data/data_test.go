//go:build !wasip1

package data

import (
	"bytes"
	"testing"
)

func TestDataAreReadInParts(t *testing.T) {
	Values["list"] = bytes.Repeat([]byte("x"), partBytes+3)
	defer delete(Values, "list")
	snapshot, err := Open("list")
	if err != nil || snapshot.Size() != partBytes+3 || !bytes.Equal(All(snapshot), Values["list"]) {
		t.Errorf("%v", err)
	}
	if len(snapshot.Read(0, partBytes+3)) != partBytes || len(snapshot.Read(partBytes+3, 1)) != 0 || len(snapshot.Read(1<<40, 1)) != 0 {
		t.Error("a part has its bounds")
	}
	if _, err := Open("none"); err == nil {
		t.Error("there is none")
	}
}
