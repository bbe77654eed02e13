package main

import (
	"bytes"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestBothHandlersGetWhatTheyWant(t *testing.T) {
	var low, high bytes.Buffer
	noTime := func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}
	log := slog.New(bothHandlers{
		slog.NewTextHandler(&low, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: noTime}),
		slog.NewTextHandler(&high, &slog.HandlerOptions{Level: slog.LevelError, ReplaceAttr: noTime}),
	})
	log.With("job", 7).WithGroup("card").Debug("proved", "gpu", 0)
	log.Error("failed")
	assert.Equal(t, "level=DEBUG msg=proved job=7 card.gpu=0\nlevel=ERROR msg=failed\n", low.String())
	assert.Equal(t, "level=ERROR msg=failed\n", high.String())
	assert.Equal(t, logHandler{}, logHandlers(nil))
}
