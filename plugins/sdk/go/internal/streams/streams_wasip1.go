package streams

import (
	"time"

	"witlet.dev/plugin/internal/abi"
)

//go:wasmimport wasi:io/streams@0.2.0 [method]input-stream.read
func inputRead(input uint32, length uint64, result uint32)

//go:wasmimport wasi:io/streams@0.2.0 [method]input-stream.subscribe
func inputSubscribe(input uint32) uint32

//go:wasmimport wasi:io/streams@0.2.0 [resource-drop]input-stream
func dropInput(input uint32)

//go:wasmimport wasi:io/streams@0.2.0 [method]output-stream.check-write
func outputCheckWrite(output, result uint32)

//go:wasmimport wasi:io/streams@0.2.0 [method]output-stream.write
func outputWrite(output, bytes, bytesLength, result uint32)

//go:wasmimport wasi:io/streams@0.2.0 [method]output-stream.subscribe
func outputSubscribe(output uint32) uint32

//go:wasmimport wasi:io/streams@0.2.0 [resource-drop]output-stream
func dropOutput(output uint32)

//go:wasmimport wasi:io/error@0.2.0 [resource-drop]error
func dropError(cause uint32)

//go:wasmimport wasi:io/poll@0.2.0 poll
func poll(pollables, length, result uint32)

//go:wasmimport wasi:io/poll@0.2.0 [resource-drop]pollable
func dropPollable(pollable uint32)

//go:wasmimport wasi:clocks/monotonic-clock@0.2.0 subscribe-duration
func subscribeDuration(nanoseconds uint64) uint32

// DropInput gives a stream back.
func DropInput(input uint32) { dropInput(input) }

// DropOutput gives a stream back.
func DropOutput(output uint32) { dropOutput(output) }

// Drop gives its cause back.
func (f Failure) Drop() { dropError(f.Cause) }

// Read waits for bytes, and gives those that are there: at most so many. ErrClosed after the last.
func Read(input uint32, length uint64, deadline time.Time) ([]byte, error) {
	for {
		bytes, err := read(input, length)
		if err != nil || len(bytes) > 0 {
			return bytes, err
		}
		if err := Wait(inputSubscribe(input), deadline); err != nil {
			return nil, err
		}
	}
}

// Write writes all of the bytes, and says how many were taken.
func Write(output uint32, bytes []byte, deadline time.Time) (int, error) {
	written := 0
	for written < len(bytes) {
		capacity, err := checkWrite(output)
		if err != nil {
			return written, err
		}
		if capacity == 0 {
			if err := Wait(outputSubscribe(output), deadline); err != nil {
				return written, err
			}
			continue
		}
		part := bytes[written:]
		part = part[:min(uint64(len(part)), capacity)]
		if err := write(output, part); err != nil {
			return written, err
		}
		written += len(part)
	}
	return written, nil
}

// Wait waits until something is ready, and drops its handle.
func Wait(pollable uint32, deadline time.Time) error {
	timer := subscribeDuration(uint64(max(0, time.Until(deadline))))
	defer dropPollable(pollable)
	defer dropPollable(timer)
	abi.Enter()
	defer abi.Leave()
	abi.Arguments.Begin(8)
	abi.Arguments.U32(0, pollable)
	abi.Arguments.U32(4, timer)
	result := abi.ImportResult()
	poll(abi.Arguments.Address(), 2, result)
	for _, index := range abi.List(result, 4, abi.U32) {
		if index == 0 {
			return nil
		}
	}
	return ErrTimedOut
}

// failure is the error of a result whose stream error lies at an address; none of a success.
func failure(result, at uint32) error {
	switch {
	case abi.Flag(result) == 0:
		return nil
	case abi.Flag(at) == 0:
		return Failure{abi.U32(at + 4)}
	default:
		return ErrClosed
	}
}

func read(input uint32, length uint64) ([]byte, error) {
	abi.Enter()
	defer abi.Leave()
	result := abi.ImportResult()
	inputRead(input, length, result)
	if err := failure(result, result+4); err != nil {
		return nil, err
	}
	return abi.Bytes(result + 4), nil
}

func checkWrite(output uint32) (uint64, error) {
	abi.Enter()
	defer abi.Leave()
	result := abi.ImportResult()
	outputCheckWrite(output, result)
	return abi.U64(result + 8), failure(result, result+8)
}

func write(output uint32, bytes []byte) error {
	abi.Enter()
	defer abi.Leave()
	abi.Arguments.Begin(8)
	abi.Arguments.Bytes(0, bytes)
	arguments, result := abi.Arguments.Address(), abi.ImportResult()
	outputWrite(output, abi.U32(arguments), abi.U32(arguments+4), result)
	return failure(result, result+4)
}
