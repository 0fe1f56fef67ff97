//go:build !wasip1

package abi

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
)

func TestWhatIsWrittenIsReadAgain(t *testing.T) {
	var e Encoder
	for range 2 {
		e.Begin(40)
		e.Flag(0, 7)
		e.U32(4, 0xfedcba98)
		e.U64(8, 1<<63|5)
		e.Text(16, "Grüße")
		e.Texts(24, []string{"a", "", "ccc"})
		e.Text(32, "")
		at := e.Address()
		if Flag(at) != 7 || U16(at+4) != 0xba98 || U32(at+4) != 0xfedcba98 || U64(at+8) != 1<<63|5 {
			t.Errorf("numbers: %v", memory)
		}
		if got := Text(at + 16); got != "Grüße" {
			t.Errorf("text: %q", got)
		}
		if got := List(at+24, TextSize, Text); !slices.Equal(got, []string{"a", "", "ccc"}) {
			t.Errorf("list: %q", got)
		}
		if got := Bytes(at + 16); string(got) != "Grüße" {
			t.Errorf("bytes: %q", got)
		}
		if Text(at+32) != "" || Bytes(at+32) != nil {
			t.Error("what is empty has no memory")
		}
	}
}

func TestOptionsHaveTheirOwnPlaces(t *testing.T) {
	var e Encoder
	e.Begin(56)
	e.OptionalText(0, "there", true)
	e.OptionalText(12, "not there", false)
	e.OptionalU64(24, 9, true)
	e.OptionalU64(40, 9, false)
	at := e.Address()
	if text, there := OptionalText(at); !there || text != "there" {
		t.Errorf("%q, %v", text, there)
	}
	if text, there := OptionalText(at + 12); there || text != "" {
		t.Errorf("%q, %v", text, there)
	}
	if Flag(at+24) != 1 || U64(at+32) != 9 || Flag(at+40) != 0 || U64(at+48) != 0 {
		t.Errorf("%v", memory)
	}
}

func TestListsOfRecordsAreAligned(t *testing.T) {
	var e Encoder
	e.Begin(8)
	e.Text(0, "x") // one byte, which moves what follows
	e.Begin(16)
	e.Text(0, "x")
	start := e.List(8, 2, 16)
	for i := range uint32(2) {
		e.Text(start+16*i, strings.Repeat("y", int(i)))
		e.U64(start+16*i+8, uint64(i)+1)
	}
	at := e.Address()
	if U32(at+8)%8 != 0 {
		t.Errorf("the list begins at %d", U32(at+8))
	}
	sums := List(at+8, 16, func(at uint32) uint64 { return U64(at+8) + uint64(len(Text(at))) })
	if !slices.Equal(sums, []uint64{1, 3}) {
		t.Errorf("%v", sums)
	}
}

func TestPairsBecomeAMap(t *testing.T) {
	var e Encoder
	e.Begin(8)
	start := e.List(0, 2, PairSize)
	for i, text := range []string{"a", "1", "b", "2"} {
		e.Text(start+uint32(i)*TextSize, text)
	}
	if got := Pairs(e.Address()); !maps.Equal(got, map[string]string{"a": "1", "b": "2"}) {
		t.Errorf("%v", got)
	}
}

func TestWhatIsntUTF8IsReplaced(t *testing.T) {
	var e Encoder
	e.Begin(8)
	e.Text(0, "a\xff\xfeb")
	if got := Text(e.Address()); got != "a\uFFFDb" {
		t.Errorf("%q", got)
	}
}

func TestALargeValueIsForgotten(t *testing.T) {
	var e Encoder
	e.Begin(8)
	e.Text(0, strings.Repeat("x", 2*bytesKept))
	e.Address()
	e.Begin(8)
	if cap(e.bytes) > bytesKept {
		t.Errorf("%d bytes are kept", cap(e.bytes))
	}
	if !slices.Equal(e.bytes, make([]byte, 8)) {
		t.Errorf("a new value isn't zero: %v", e.bytes)
	}
}

func TestARefusalHasItsWords(t *testing.T) {
	if at := Refusal(nil); Flag(at) != 0 {
		t.Error("no error is a success")
	}
	if at := Refusal(errors.New("not this")); Flag(at) != 1 || Text(at+4) != "not this" {
		t.Errorf("%v", memory)
	}
}
