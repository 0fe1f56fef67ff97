package contract

import (
	"log/slog"

	"witlet.dev/plugin/internal/abi"
	"witlet.dev/plugin/internal/lines"
)

//go:wasmimport witlet:host/log@0.2.0 write
func logWrite(level, message, messageLength, fields, fieldsLength uint32)

// Package log writes where slog does from then on.
func init() { slog.SetDefault(slog.New(&lines.Handler{Write: write})) }

func write(level uint32, message string, fields []lines.Field) {
	pairs := make([][2]string, len(fields))
	for i, field := range fields {
		pairs[i] = [2]string{field.Name, field.Value}
	}
	WithTextAndPairs(message, pairs, func(a, b, c, d uint32) { logWrite(level, a, b, c, d) })
}

// WithTextAndPairs lays out a text, and a list of keys and values, for an import.
func WithTextAndPairs(text string, pairs [][2]string, call func(a, b, c, d uint32)) {
	abi.Enter()
	defer abi.Leave()
	arguments := &abi.Arguments
	arguments.Begin(2 * abi.TextSize)
	arguments.Text(0, text)
	first := arguments.List(abi.TextSize, len(pairs), abi.PairSize)
	for i, pair := range pairs {
		at := first + uint32(i)*abi.PairSize
		arguments.Text(at, pair[0])
		arguments.Text(at+abi.TextSize, pair[1])
	}
	at := arguments.Address()
	call(abi.U32(at), abi.U32(at+4), abi.U32(at+8), abi.U32(at+12))
}
