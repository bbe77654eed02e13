package main

/*
#include "internal.h"
*/
import "C"

import (
	"context"
	"log/slog"
	"unsafe"

	"github.com/libcuzk/libcuzk/engine/metrics"
	"github.com/libcuzk/libcuzk/engine/timeline"
)

//export cuzkgoMetrics
func cuzkgoMetrics(packed C.uintptr_t) C.cuzk_status {
	return call("cuzk_metrics", func() error {
		args := arguments[C.struct_cuzkc_metrics_args](packed)
		size := uint64(args.size)
		if err := checkPointer("needed", args.needed); err != nil {
			return err
		}
		if size > 0 && args.out == 0 {
			return refuse(errNull, "out is NULL, and size is %d", size)
		}
		e, err := theEngine()
		if err != nil {
			return err
		}
		text, err := metrics.Text(e)
		if err != nil {
			return err
		}
		text = append(text, 0)
		write(args.needed, uint64(len(text)))
		if size == 0 {
			return nil // only the number was asked for
		}
		if size < uint64(len(text)) {
			return refuse(errSize, "size is %d, the metrics take %d bytes", size, len(text))
		}
		// SAFETY: the caller has given at least so many bytes at out.
		copy(unsafe.Slice(at[byte](args.out), len(text)), text)
		return nil
	})
}

//export cuzkgoTimelineStart
func cuzkgoTimelineStart(packed C.uintptr_t) C.cuzk_status {
	return call("cuzk_timeline_start", func() error {
		path, err := stringAt("path", arguments[C.struct_cuzkc_timeline_start_args](packed).path)
		if err != nil {
			return err
		}
		// First, so that the environment's timeline is running if there is one.
		if _, err := theEngine(); err != nil {
			return err
		}
		if err := timeline.Start(path); err != nil {
			return err
		}
		stopAtExit()
		return nil
	})
}

//export cuzkgoTimelineStop
func cuzkgoTimelineStop(C.uintptr_t) C.cuzk_status {
	return call("cuzk_timeline_stop", timeline.Stop)
}

// stopAtExit completes the timeline when the process ends.
func stopAtExit() { C.cuzkc_stop_timeline_at_exit() }

// logHandlers sends records to the callback and, if it is not nil, to second.
func logHandlers(second slog.Handler) slog.Handler {
	if second == nil {
		return logHandler{}
	}
	return bothHandlers{logHandler{}, second}
}

// bothHandlers hands each record to two handlers.
type bothHandlers [2]slog.Handler

func (b bothHandlers) Enabled(ctx context.Context, level slog.Level) bool {
	return b[0].Enabled(ctx, level) || b[1].Enabled(ctx, level)
}

func (b bothHandlers) Handle(ctx context.Context, r slog.Record) error {
	for _, h := range b {
		if h.Enabled(ctx, r.Level) {
			// One that fails does not keep the record from the other.
			_ = h.Handle(ctx, r.Clone())
		}
	}
	return nil
}

func (b bothHandlers) WithAttrs(attrs []slog.Attr) slog.Handler {
	return bothHandlers{b[0].WithAttrs(attrs), b[1].WithAttrs(attrs)}
}

func (b bothHandlers) WithGroup(name string) slog.Handler {
	return bothHandlers{b[0].WithGroup(name), b[1].WithGroup(name)}
}
