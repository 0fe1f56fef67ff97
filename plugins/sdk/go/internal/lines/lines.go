// Package lines has lines of log/slog written by a host, whatever the contract.
package lines

import (
	"context"
	"log/slog"
	"slices"
)

// A Field is a name and a value for structured logs.
type Field struct{ Name, Value string }

// A Handler has lines of log/slog written by the host, whose clock and whose levels count.
type Handler struct {
	// Write writes one line at a level of the contract, trace being 0 and error 4.
	Write  func(level uint32, message string, fields []Field)
	fields []Field
	// prefix is that of names in open groups.
	prefix string
}

// Enabled leaves it to the host which lines are kept.
func (h *Handler) Enabled(context.Context, slog.Level) bool { return true }

// Handle writes a line.
func (h *Handler) Handle(_ context.Context, record slog.Record) error {
	fields := slices.Clip(h.fields)
	record.Attrs(func(attr slog.Attr) bool {
		fields = appendAttr(fields, h.prefix, attr)
		return true
	})
	h.Write(level(record.Level), record.Message, fields)
	return nil
}

// WithAttrs is a handler whose lines have more fields.
func (h *Handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	more := *h
	more.fields = slices.Clip(h.fields)
	for _, attr := range attrs {
		more.fields = appendAttr(more.fields, h.prefix, attr)
	}
	return &more
}

// WithGroup is a handler whose further fields have names that begin with the group's.
func (h *Handler) WithGroup(name string) slog.Handler {
	more := *h
	if name != "" {
		more.prefix += name + "."
	}
	return &more
}

func appendAttr(fields []Field, prefix string, attr slog.Attr) []Field {
	value := attr.Value.Resolve()
	if value.Kind() != slog.KindGroup {
		if attr.Equal(slog.Attr{}) {
			return fields
		}
		return append(fields, Field{prefix + attr.Key, value.String()})
	}
	if attr.Key != "" {
		prefix += attr.Key + "."
	}
	for _, attr := range value.Group() {
		fields = appendAttr(fields, prefix, attr)
	}
	return fields
}

// level is the contract's level for one of slog, which leaves numbers between its own.
func level(level slog.Level) uint32 {
	for number, next := range []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError} {
		if level < next {
			return uint32(number)
		}
	}
	return 4
}
