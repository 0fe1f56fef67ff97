package host

import (
	"log/slog"

	"witlet.dev/plugin/internal/abi"
	"witlet.dev/plugin/internal/lines"
)

//go:wasmimport witlet:host/log@0.1.0 write
func logWrite(level, message, messageLength, fields, fieldsLength uint32)

// Package log writes where slog does from then on.
func init() { slog.SetDefault(slog.New(&lines.Handler{Write: write})) }

func write(level uint32, message string, fields []lines.Field) {
	abi.Enter()
	defer abi.Leave()
	arguments := &abi.Arguments
	arguments.Begin(2 * abi.TextSize)
	arguments.Text(0, message)
	first := arguments.List(abi.TextSize, len(fields), abi.PairSize)
	for i, field := range fields {
		at := first + uint32(i)*abi.PairSize
		arguments.Text(at, field.Name)
		arguments.Text(at+abi.TextSize, field.Value)
	}
	at := arguments.Address()
	logWrite(level, abi.U32(at), abi.U32(at+4), abi.U32(at+8), abi.U32(at+12))
}
