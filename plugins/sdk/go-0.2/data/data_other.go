//go:build !wasip1

package data

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"

	"witlet.dev/plugin/v0_2/internal/contract"
)

// Values are the data that unit tests have; no component has them.
var Values = map[string][]byte{}

// Names are the names of the data, sorted.
func Names() []string { return slices.Sorted(maps.Keys(Values)) }

// Open opens the data with this name.
func Open(name string) (Snapshot, error) {
	if value, ok := Values[name]; ok {
		return testSnapshot(value), nil
	}
	return nil, &contract.Error{Code: "NotFound", Message: "the entry has no data " + name}
}

type testSnapshot []byte

func (t testSnapshot) Digest() string { return fmt.Sprintf("sha256:%x", sha256.Sum256(t)) }
func (t testSnapshot) Size() uint64   { return uint64(len(t)) }
func (t testSnapshot) Read(offset, length uint64) []byte {
	rest := t[min(offset, uint64(len(t))):]
	return slices.Clone(rest[:min(length, uint64(len(rest)), partBytes)])
}
