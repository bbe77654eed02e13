package main

/*
#include "internal.h"
*/
import "C"

import (
	"strings"
	"time"
	"unsafe"
)

// stderrLines go to stderr on a goroutine of their own: a reader that has
// stopped reading must not stop who logs.
var stderrLines = newLogQueue("the reader of stderr is")

func init() {
	stderrLines.replace(func(_ int32, text string) {
		text += "\n"
		C.cuzkc_write_stderr((*C.char)(unsafe.Pointer(unsafe.StringData(text))), C.size_t(len(text)))
	})
}

// stderrWriter takes whole lines.
type stderrWriter struct{}

func (stderrWriter) Write(line []byte) (int, error) {
	stderrLines.add(0, 0, strings.TrimSuffix(string(line), "\n"))
	return len(line), nil
}

// maxFlush is how long the end of the process waits for lines on their way to
// stderr.
const maxFlush = 500 * time.Millisecond

// flushAtExit has the last lines reach stderr before the process ends.
func flushAtExit() { C.cuzkc_flush_log_at_exit() }

//export cuzkgoFlushLog
func cuzkgoFlushLog(C.uintptr_t) C.cuzk_status {
	return call("flush of the log", func() error {
		for begin := time.Now(); stderrLines.undelivered() && time.Since(begin) < maxFlush; {
			time.Sleep(time.Millisecond)
		}
		return nil
	})
}
