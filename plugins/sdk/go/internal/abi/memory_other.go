//go:build !wasip1

package abi

// Outside a component there is no host. For the tests of this package, which lay out values as it does, a few bytes stand for all
// memory.

const memoryBase = 0x1000

var memory []byte

func bytesAt(address, length uint32) []byte {
	return memory[address-memoryBase:][:length]
}

func addressOf(bytes []byte) uint32 {
	memory = bytes
	return memoryBase
}

func free() {}
