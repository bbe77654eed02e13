package main

/*
#include "internal.h"
*/
import "C"

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"unsafe"

	"github.com/libcuzk/libcuzk/engine"
	"github.com/libcuzk/libcuzk/engine/groth16"
	"github.com/libcuzk/libcuzk/engine/srs"
	"github.com/libcuzk/libcuzk/engine/timeline"
	"github.com/libcuzk/libcuzk/internal/plainfile"
	"github.com/libcuzk/libcuzk/internal/poller"
)

type status = C.cuzk_status

// What this package refuses itself; everything else comes from the engine.
var (
	errNull       = errors.New("null pointer")
	errAlignment  = errors.New("misaligned pointer")
	errHandle     = errors.New("bad handle")
	errStructSize = errors.New("bad struct_size")
	errSize       = errors.New("count out of range")
	errValue      = errors.New("value out of range")
	errTimeout    = errors.New("timeout")
)

// refusal is an error with one of the reasons above, whose text leaves the
// reason out: the status says it already.
type refusal struct {
	reason error
	text   string
}

func (r *refusal) Error() string { return r.text }
func (r *refusal) Unwrap() error { return r.reason }

func refuse(reason error, format string, args ...any) error {
	return &refusal{reason, fmt.Sprintf(format, args...)}
}

// statuses maps errors to statuses. The first that matches counts: an error
// may wrap several of them, the more exact one comes first.
var statuses = []struct {
	err    error
	status status
}{
	{errNull, C.CUZK_ERR_NULL},
	{errAlignment, C.CUZK_ERR_ALIGNMENT},
	{errHandle, C.CUZK_ERR_HANDLE},
	{errStructSize, C.CUZK_ERR_STRUCT_SIZE},
	{errSize, C.CUZK_ERR_SIZE},
	{errValue, C.CUZK_ERR_VALUE},
	{errTimeout, C.CUZK_ERR_TIMEOUT},
	{poller.ErrNone, C.CUZK_ERR_HOST_MEMORY},

	{engine.ErrInternal, C.CUZK_ERR_INTERNAL},
	{engine.ErrClosed, C.CUZK_ERR_CLOSED},
	{engine.ErrCancelled, C.CUZK_ERR_CANCELLED},
	{engine.ErrNoDevice, C.CUZK_ERR_NO_DEVICE},
	{engine.ErrUnsatisfied, C.CUZK_ERR_UNSATISFIED},
	{engine.ErrOption, C.CUZK_ERR_VALUE},
	{timeline.ErrRecording, C.CUZK_ERR_VALUE},
	{timeline.ErrNotRecording, C.CUZK_ERR_VALUE},
	{timeline.ErrFile, C.CUZK_ERR_FILE_IO},

	{groth16.ErrSize, C.CUZK_ERR_SIZE},
	{groth16.ErrDensity, C.CUZK_ERR_DENSITY},
	{groth16.ErrMismatch, C.CUZK_ERR_SRS_MISMATCH},
	{groth16.ErrScalarRange, C.CUZK_ERR_SCALAR},
	{groth16.ErrEncoding, C.CUZK_ERR_POINT},
	{groth16.ErrProofPoint, C.CUZK_ERR_POINT},
	{groth16.ErrProofInvalid, C.CUZK_ERR_PROOF},
	{groth16.ErrDeltaIdentity, C.CUZK_ERR_FILE_INFINITY},

	{srs.ErrChanged, C.CUZK_ERR_FILE_CHANGED},
	{srs.ErrRead, C.CUZK_ERR_FILE_IO},
	{plainfile.ErrNotRegular, C.CUZK_ERR_FILE_IO},
	{srs.ErrTruncated, C.CUZK_ERR_FILE_TRUNCATED},
	{srs.ErrCounts, C.CUZK_ERR_FILE_COUNTS},
	{srs.ErrTrailing, C.CUZK_ERR_FILE_COUNTS},
	{srs.ErrEncoding, C.CUZK_ERR_FILE_ENCODING},
	{srs.ErrNotCanonical, C.CUZK_ERR_FILE_ENCODING},
	{srs.ErrNotOnCurve, C.CUZK_ERR_FILE_POINT},
	{srs.ErrNotInSubgroup, C.CUZK_ERR_FILE_POINT},
	{srs.ErrInfinity, C.CUZK_ERR_FILE_INFINITY},
	{srs.ErrReleased, C.CUZK_ERR_HANDLE},

	{engine.ErrHostMemory, C.CUZK_ERR_HOST_MEMORY},
	{engine.ErrDeviceLost, C.CUZK_ERR_DEVICE_LOST},
	{engine.ErrDeviceMemory, C.CUZK_ERR_DEVICE_MEMORY},
	{context.Canceled, C.CUZK_ERR_CANCELLED},
	{engine.ErrDevice, C.CUZK_ERR_DEVICE},
}

// statusOf is the status of an error; CUZK_ERR_INTERNAL if it is in no table,
// which is a bug of ours.
func statusOf(err error) status {
	for _, s := range statuses {
		if errors.Is(err, s.err) {
			return s.status
		}
	}
	return C.CUZK_ERR_INTERNAL
}

// call runs the body of one exported function: it leaves the error's text for
// the calling thread and contains panics. name is the C function's.
func call(name string, body func() error) (result status) {
	defer func() {
		if p := recover(); p != nil {
			result = C.CUZK_ERR_INTERNAL
			setLastError(fmt.Sprintf("%s: panic: %v\n%s", name, p, debug.Stack()))
		}
	}()
	err := poller.Need()
	if err == nil {
		err = body()
	}
	if err != nil {
		setLastError(name + ": " + err.Error())
		return statusOf(err)
	}
	return C.CUZK_OK
}

// setLastError copies text to the calling thread's buffer. The goroutine of an
// exported function stays on the thread that called it.
func setLastError(text string) {
	C.cuzkc_set_last_error((*C.char)(unsafe.Pointer(unsafe.StringData(text))), C.size_t(len(text)))
}
