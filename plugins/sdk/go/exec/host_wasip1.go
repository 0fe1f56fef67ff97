package exec

import (
	"errors"

	"witlet.dev/plugin/internal/abi"
	"witlet.dev/plugin/probe"
)

//go:wasmimport witlet:probe/exec@0.1.0 run
func execRun(target, command, commandLength, result uint32)

func run(target probe.Target, command []string) (Result, error) {
	handle := target.(interface{ HostHandle() uint32 }).HostHandle()
	abi.Enter()
	defer abi.Leave()
	abi.Arguments.Begin(abi.TextSize)
	abi.Arguments.Texts(0, command)
	arguments, result := abi.Arguments.Address(), abi.ImportResult()
	execRun(handle, abi.U32(arguments), abi.U32(arguments+4), result)
	if abi.Flag(result) == 0 {
		return Result{ExitCode: int32(abi.U32(result + 4)), Output: abi.Bytes(result + 8)}, nil
	}
	if abi.Flag(result+4) == 0 {
		return Result{}, ErrTimedOut
	}
	return Result{}, errors.New(abi.Text(result + 8))
}
