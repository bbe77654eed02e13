package main

/*
#include "internal.h"
*/
import "C"

import (
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
