package abi

import "unsafe"

// The host writes arguments of exports and results of imports into memory that it asks for. It does so in the midst of a call, when
// nothing may call the host: neither Go's allocator, whose collector checks the clock, nor the scheduler. So that memory isn't Go's
// but comes from chunks, which are handed out from their beginning and used again when what was in them has been copied.

const (
	pageBytes = 64 << 10
	// chunksMax bounds how many chunks there are. Each is twice as large as the one before at least.
	chunksMax  = 16
	firstBytes = 16 << 10
)

type chunk struct{ base, size, used uintptr }

var (
	first      [firstBytes / 8]uint64
	chunks     [chunksMax]chunk
	chunkCount int
	// chunkBytes counts what the runtime gave; it wants to count it somewhere.
	chunkBytes uint64
)

// adapterPages is for the preview-1 adapter, which asks for two pages: its stack, and its state. It does so at the first call
// to it, which Go's runtime makes before it has memory of its own.
var (
	adapterPages [2*pageBytes/8 + 1]uint64
	adapterUsed  uintptr
)

// persistentalloc gives memory that the collector doesn't know of.
//
//go:linkname persistentalloc runtime.persistentalloc
func persistentalloc(size, align uintptr, stat *uint64) unsafe.Pointer

// trap ends the call: see memory_wasip1.s.
func trap()

// The wrappers of exports run on the stack of the host's caller. A function that checks no stack, switches none, allocates nothing
// and writes no pointers that the collector follows can be called at any time, also while the runtime starts.

//go:wasmexport cabi_realloc_adapter
//go:nosplit
func reallocAdapter(_, _, _, size uint32) uint32 {
	if adapterUsed+uintptr(size) > 2*pageBytes {
		trap()
	}
	at := uintptr(unsafe.Pointer(&adapterPages)) + adapterUsed
	adapterUsed += uintptr(size)
	return uint32(at)
}

//go:wasmexport cabi_realloc
//go:nosplit
func realloc(old, oldSize, align, size uint32) uint32 {
	if size == 0 {
		return align
	}
	at := allocate(uintptr(size), uintptr(align))
	if oldSize != 0 {
		from := unsafe.Slice((*byte)(unsafe.Pointer(uintptr(old))), min(oldSize, size))
		copy(unsafe.Slice((*byte)(unsafe.Pointer(at)), size), from)
	}
	return uint32(at)
}

//go:nosplit
func allocate(size, align uintptr) uintptr {
	if chunkCount == 0 {
		chunks[0] = chunk{base: uintptr(unsafe.Pointer(&first)), size: firstBytes}
		chunkCount = 1
	}
	for i := range chunkCount {
		if at, ok := chunks[i].take(size, align); ok {
			return at
		}
	}
	if chunkCount == chunksMax {
		trap()
	}
	bytes := (max(size, 2*chunks[chunkCount-1].size, pageBytes) + pageBytes - 1) &^ (pageBytes - 1)
	base := uintptr(persistentalloc(bytes, 8, &chunkBytes))
	if base == 0 {
		trap()
	}
	chunks[chunkCount] = chunk{base: base, size: bytes}
	chunkCount++
	at, _ := chunks[chunkCount-1].take(size, align)
	return at
}

//go:nosplit
func (c *chunk) take(size, align uintptr) (uintptr, bool) {
	at := (c.base + c.used + align - 1) &^ (align - 1)
	if at+size > c.base+c.size {
		return 0, false
	}
	c.used = at + size - c.base
	return at, true
}

func free() {
	for i := range chunkCount {
		chunks[i].used = 0
	}
}

func bytesAt(address, length uint32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(uintptr(address))), length)
}

func addressOf(bytes []byte) uint32 {
	return uint32(uintptr(unsafe.Pointer(unsafe.SliceData(bytes))))
}
