package main

/*
#include <stdlib.h>
#include "cuzk.h"
#include "internal.h"
*/
import "C"

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"
)

// The log callback. logMu is held while it runs: calls come one at a time, and
// once cuzk_set_log returns the former callback has ended.
var (
	logMu    sync.Mutex
	logFn    C.cuzk_log_fn  // guarded by logMu; nil: off
	logUser  unsafe.Pointer // guarded by logMu
	logLevel atomic.Int32   // CUZK_LOG_*; 0: off
)

//export cuzkgoSetLog
func cuzkgoSetLog(fn C.cuzk_log_fn, user unsafe.Pointer, maxLevel C.int32_t) C.cuzk_status {
	return call("cuzk_set_log", func() error {
		if fn != nil && (maxLevel < C.CUZK_LOG_ERROR || maxLevel > C.CUZK_LOG_DEBUG) {
			return refuse(errValue, "max_level is %d, expected %d to %d", maxLevel, C.CUZK_LOG_ERROR, C.CUZK_LOG_DEBUG)
		}
		logMu.Lock()
		defer logMu.Unlock()
		logFn, logUser = fn, user
		if fn == nil {
			maxLevel = 0
		}
		logLevel.Store(int32(maxLevel))
		return nil
	})
}

// logHandler writes records as one line, "message key=value", to the callback.
type logHandler struct {
	attrs string // " key=value" of the logger's own attributes
	group string // prefix of the keys, with a dot at its end
}

func (h logHandler) Enabled(_ context.Context, level slog.Level) bool {
	return headerLevel(level) <= logLevel.Load()
}

func (h logHandler) Handle(_ context.Context, r slog.Record) error {
	var line strings.Builder
	line.WriteString(r.Message)
	line.WriteString(h.attrs)
	r.Attrs(func(a slog.Attr) bool {
		h.write(&line, a)
		return true
	})
	level := headerLevel(r.Level)
	text := C.CString(oneLine.Replace(line.String()))
	defer C.free(unsafe.Pointer(text))

	logMu.Lock()
	defer logMu.Unlock()
	if logFn != nil && level <= logLevel.Load() {
		C.cuzkc_log(logFn, C.int32_t(level), text, logUser)
	}
	return nil
}

func (h logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	var line strings.Builder
	for _, a := range attrs {
		h.write(&line, a)
	}
	h.attrs += line.String()
	return h
}

func (h logHandler) WithGroup(name string) slog.Handler {
	h.group += name + "."
	return h
}

func (h logHandler) write(line *strings.Builder, a slog.Attr) {
	fmt.Fprintf(line, " %s%s=%v", h.group, a.Key, a.Value.Resolve())
}

// oneLine keeps a message a single C string of one line.
var oneLine = strings.NewReplacer("\n", " | ", "\r", "", "\x00", "")

func headerLevel(level slog.Level) int32 {
	switch {
	case level >= slog.LevelError:
		return C.CUZK_LOG_ERROR
	case level >= slog.LevelWarn:
		return C.CUZK_LOG_WARN
	case level >= slog.LevelInfo:
		return C.CUZK_LOG_INFO
	}
	return C.CUZK_LOG_DEBUG
}
