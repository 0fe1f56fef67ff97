// Package abi has what the component model's canonical ABI asks of a component: how values lie in memory. Numbers are little-endian, texts
// and lists are an address and a length of 32 bits each.
package abi

import (
	"encoding/binary"
	"strings"
	"unicode/utf8"
)

// Sizes of values in bytes.
const (
	TextSize = 8
	// PairSize is that of a tuple of two texts.
	PairSize = 2 * TextSize
	// bytesKept is how much memory an encoder keeps from one value to the next.
	bytesKept = 64 << 10
)

// Flag reads a byte: a boolean, the number of a case, or whether there is a value.
func Flag(at uint32) uint8 { return bytesAt(at, 1)[0] }

// U16 reads a number.
func U16(at uint32) uint16 { return binary.LittleEndian.Uint16(bytesAt(at, 2)) }

// U32 reads a number.
func U32(at uint32) uint32 { return binary.LittleEndian.Uint32(bytesAt(at, 4)) }

// U64 reads a number.
func U64(at uint32) uint64 { return binary.LittleEndian.Uint64(bytesAt(at, 8)) }

// Text reads a text.
func Text(at uint32) string { return TextOf(U32(at), U32(at+4)) }

// TextOf reads a text whose address and length were given by themselves.
func TextOf(address, length uint32) string {
	if length == 0 {
		return ""
	}
	return string(bytesAt(address, length))
}

// Bytes reads a list of bytes.
func Bytes(at uint32) []byte {
	length := U32(at + 4)
	if length == 0 {
		return nil
	}
	return append([]byte(nil), bytesAt(U32(at), length)...)
}

// List reads a list of values of a size, each by a function of its address.
func List[T any](at, size uint32, read func(at uint32) T) []T {
	return ListOf(U32(at), U32(at+4), size, read)
}

// ListOf reads a list whose address and length were given by themselves.
func ListOf[T any](address, length, size uint32, read func(at uint32) T) []T {
	if length == 0 {
		return nil
	}
	values := make([]T, length)
	for i := range values {
		values[i] = read(address + uint32(i)*size)
	}
	return values
}

// Pairs reads a list of keys and values.
func Pairs(at uint32) map[string]string {
	address, length := U32(at), U32(at+4)
	pairs := make(map[string]string, length)
	for i := range length {
		pair := address + i*PairSize
		pairs[Text(pair)] = Text(pair + TextSize)
	}
	return pairs
}

// OptionalText reads a text that may not be there.
func OptionalText(at uint32) (string, bool) {
	if Flag(at) == 0 {
		return "", false
	}
	return Text(at + 4), true
}

// An Encoder lays out a value for the host. Positions are counted from the value's first byte.
type Encoder struct {
	bytes []byte
	// links are positions of addresses in the value, which are positions themselves until Address.
	links []uint32
}

// Begin starts a value of a size, all zero.
func (e *Encoder) Begin(size uint32) {
	if cap(e.bytes) > bytesKept {
		e.bytes = nil
	}
	e.bytes, e.links = e.bytes[:0], e.links[:0]
	e.extend(size)
}

// extend appends zeros, at a position that any number may have, and returns it.
func (e *Encoder) extend(size uint32) uint32 {
	const most = 64
	start := (uint32(len(e.bytes)) + 7) &^ 7
	end := int(start + size)
	if end > cap(e.bytes) {
		grown := make([]byte, len(e.bytes), max(end, 2*cap(e.bytes), most))
		copy(grown, e.bytes)
		e.bytes = grown
	}
	old := len(e.bytes)
	e.bytes = e.bytes[:end]
	clear(e.bytes[old:])
	return start
}

// Flag writes a byte: a boolean, the number of a case, or whether there is a value.
func (e *Encoder) Flag(at uint32, value uint8) { e.bytes[at] = value }

// U32 writes a number.
func (e *Encoder) U32(at, value uint32) { binary.LittleEndian.PutUint32(e.bytes[at:], value) }

// U64 writes a number.
func (e *Encoder) U64(at uint32, value uint64) { binary.LittleEndian.PutUint64(e.bytes[at:], value) }

// Text writes a text. What of it isn't UTF-8 is replaced: the host would end the call.
func (e *Encoder) Text(at uint32, text string) {
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "\uFFFD")
	}
	start := e.extend(uint32(len(text)))
	copy(e.bytes[start:], text)
	e.link(at, start, uint32(len(text)))
}

// Bytes writes a list of bytes.
func (e *Encoder) Bytes(at uint32, bytes []byte) {
	start := e.extend(uint32(len(bytes)))
	copy(e.bytes[start:], bytes)
	e.link(at, start, uint32(len(bytes)))
}

// OptionalText writes a text if it is there.
func (e *Encoder) OptionalText(at uint32, text string, there bool) {
	if there {
		e.Flag(at, 1)
		e.Text(at+4, text)
	}
}

// OptionalU64 writes a number if it is there.
func (e *Encoder) OptionalU64(at uint32, value uint64, there bool) {
	if there {
		e.Flag(at, 1)
		e.U64(at+8, value)
	}
}

// List writes a list of so many values of a size, all zero, and returns where the first one is.
func (e *Encoder) List(at uint32, length int, size uint32) uint32 {
	start := e.extend(uint32(length) * size)
	e.link(at, start, uint32(length))
	return start
}

// Texts writes a list of texts.
func (e *Encoder) Texts(at uint32, texts []string) {
	start := e.List(at, len(texts), TextSize)
	for i, text := range texts {
		e.Text(start+uint32(i)*TextSize, text)
	}
}

func (e *Encoder) link(at, start, length uint32) {
	e.U32(at, start)
	e.U32(at+4, length)
	e.links = append(e.links, at)
}

// Address ends the value, and is where it lies in memory until the next one begins.
func (e *Encoder) Address() uint32 {
	base := addressOf(e.bytes)
	for _, at := range e.links {
		e.U32(at, base+binary.LittleEndian.Uint32(e.bytes[at:]))
	}
	e.links = e.links[:0]
	return base
}
