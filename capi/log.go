package main

/*
#include <stdlib.h>
#include "internal.h"
*/
import "C"

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"unsafe"
)

// The log callback.
var (
	logCalls = newLogQueue("the log callback is")
	logLevel atomic.Int32 // CUZK_LOG_*; 0: off
)

//export cuzkgoSetLog
func cuzkgoSetLog(packed C.uintptr_t) C.cuzk_status {
	return call("cuzk_set_log", func() error {
		args := arguments[C.struct_cuzkc_set_log_args](packed)
		maxLevel := args.max_level
		if args.fn == 0 {
			logLevel.Store(0)
			logCalls.replace(nil)
			return nil
		}
		if maxLevel < C.CUZK_LOG_ERROR || maxLevel > C.CUZK_LOG_DEBUG {
			return refuse(errValue, "max_level is %d, expected %d to %d", maxLevel, C.CUZK_LOG_ERROR, C.CUZK_LOG_DEBUG)
		}
		logLevel.Store(int32(maxLevel))
		logCalls.replace(func(level int32, text string) {
			if level > int32(maxLevel) {
				return // logged while this callback replaced another
			}
			message := C.CString(text)
			defer C.free(unsafe.Pointer(message))
			C.cuzkc_log(args.fn, C.int32_t(level), message, args.user)
		})
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
	logCalls.add(headerLevel(r.Level), C.CUZK_LOG_WARN, oneLine.Replace(line.String()))
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

// logHandlers sends records to the callback and, if second is not nil, to
// second.
func logHandlers(second slog.Handler) slog.Handler {
	if second == nil {
		return logHandler{}
	}
	return slog.NewMultiHandler(logHandler{}, second)
}
