package main

import (
	"bytes"
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

func TestASecondHandlerGetsWhatTheCallbackDoesNotWant(t *testing.T) {
	var text bytes.Buffer
	noTime := func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}
	second := slog.NewTextHandler(&text, &slog.HandlerOptions{Level: slog.LevelInfo, ReplaceAttr: noTime})
	log := slog.New(logHandlers(second)) // no callback is set
	log.Debug("dull")
	log.With("job", 7).WithGroup("device").Info("proved", "gpu", 0)
	assert.Equal(t, "level=INFO msg=proved job=7 device.gpu=0\n", text.String())
	assert.Equal(t, logHandler{}, logHandlers(nil))
}
