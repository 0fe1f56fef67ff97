package lines

import (
	"fmt"
	"log/slog"
	"testing"

	"witlet.dev/plugin"
)

func TestLinesKeepTheirLevelAndFields(t *testing.T) {
	var lines []string
	logger := slog.New(&Handler{Write: func(level uint32, message string, fields []Field) {
		lines = append(lines, fmt.Sprint(level, " ", message, " ", fields))
	}})
	logger.Log(t.Context(), plugin.LevelTrace, "trace")
	logger.Debug("debug")
	logger.Info("info", "name", "web", "count", 2)
	logger.Warn("warn", slog.Group("pod", "name", "web", slog.Group("node", "name", "edge")), slog.Group("", "inline", true))
	logger.Log(t.Context(), slog.LevelInfo+2, "between")
	child := logger.With("a", 1).WithGroup("g").With("b", 2)
	child.Error("error", "c", 3)
	child.Error("again")
	want := []string{
		"0 trace []",
		"1 debug []",
		"2 info [{name web} {count 2}]",
		"3 warn [{pod.name web} {pod.node.name edge} {inline true}]",
		"2 between []",
		"4 error [{a 1} {g.b 2} {g.c 3}]",
		"4 again [{a 1} {g.b 2}]",
	}
	if len(lines) != len(want) {
		t.Fatalf("%q", lines)
	}
	for i, line := range lines {
		if line != want[i] {
			t.Errorf("%q instead of %q", line, want[i])
		}
	}
}
