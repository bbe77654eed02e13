package main

import (
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestLogLine(t *testing.T) {
	var line strings.Builder
	h := logHandler{}.WithGroup("job").WithAttrs([]slog.Attr{slog.Int("id", 7)}).(logHandler)
	line.WriteString(h.attrs)
	h.write(&line, slog.Any("error", errors.New("first\nsecond")))
	assert.Equal(t, " job.id=7 job.error=first | second", oneLine.Replace(line.String()))
}

func TestLogLevels(t *testing.T) {
	for level, want := range map[slog.Level]int32{
		slog.LevelError: 1, slog.LevelError + 4: 1, slog.LevelWarn: 2, slog.LevelInfo: 3,
		slog.LevelDebug: 4, slog.LevelDebug - 4: 4,
	} {
		assert.Equal(t, want, headerLevel(level), "%v", level)
	}
	assert.False(t, logHandler{}.Enabled(t.Context(), slog.LevelError), "the log is off at first")
}
