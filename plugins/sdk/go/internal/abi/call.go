package abi

import "sync"

// An allocation may have another goroutine run, when the collector wants it. So what a call of the host needs, its arguments, its
// result and the memory that the host wrote to, is one goroutine's from Enter to Leave.

var (
	busy sync.Mutex
	// areArgumentsUnread is set from the beginning of an export until it has copied its arguments, which another goroutine's Leave must
	// not give back.
	areArgumentsUnread bool
)

// Enter begins a call of the host.
func Enter() { busy.Lock() }

// Leave ends a call of the host whose result was copied.
func Leave() {
	if !areArgumentsUnread {
		free()
	}
	busy.Unlock()
}

// EnterExport is the first thing that an export does.
func EnterExport() {
	areArgumentsUnread = true
	busy.Lock()
}

// LeaveExport is what an export does when it has copied its arguments.
func LeaveExport() {
	areArgumentsUnread = false
	Leave()
}

// ArgumentText is the one argument of an export, a text.
func ArgumentText(address, length uint32) string {
	EnterExport()
	defer LeaveExport()
	return TextOf(address, length)
}

// Arguments is the encoder of what imports are given, between Enter and Leave.
var Arguments Encoder

// TextArgument lays out a text for an import.
func TextArgument(text string) (address, length uint32) {
	Arguments.Begin(TextSize)
	Arguments.Text(0, text)
	at := Arguments.Address()
	return U32(at), U32(at + 4)
}

// resultBytes is as large as the largest result of an import.
const resultBytes = 56

var importResult = make([]byte, resultBytes)

// ImportResult is where imports put their result, between Enter and Leave.
func ImportResult() uint32 { return addressOf(importResult) }

// Result is the encoder of what exports return: the host reads it before it calls again.
var Result Encoder

// Refusal is the address of a result that is an error in words, or a success without a value.
func Refusal(err error) uint32 {
	Result.Begin(12)
	if err != nil {
		Result.Flag(0, 1)
		Result.Text(4, err.Error())
	}
	return Result.Address()
}
