package driver

import (
	"errors"
	"fmt"
	"unsafe"
)

// Result is CUresult.
type Result int32

// Results this package acts on. Names and texts of all come from the driver
// itself. Source: cuda.h of CUDA 13.0.
const (
	Success           Result = 0
	ErrorInvalidValue Result = 1
	ErrorOutOfMemory  Result = 2
	ErrorNoDevice     Result = 100
	ErrorNotFound     Result = 500
	ErrorNotReady     Result = 600

	invalidContext     Result = 201
	contextIsDestroyed Result = 709

	ErrorHostMemoryAlreadyRegistered Result = 712
)

// sticky are the results after which a context answers every call with an
// error until it is destroyed. Source: cuda.h of CUDA 13.0, "the context cannot be
// used, so it must be destroyed" and "this leaves the process in an
// inconsistent state".
var sticky = map[Result]bool{
	214: true, // CUDA_ERROR_ECC_UNCORRECTABLE
	220: true, // CUDA_ERROR_NVLINK_UNCORRECTABLE
	226: true, // CUDA_ERROR_CONTAINED
	700: true, // CUDA_ERROR_ILLEGAL_ADDRESS
	702: true, // CUDA_ERROR_LAUNCH_TIMEOUT
	710: true, // CUDA_ERROR_ASSERT
	714: true, // CUDA_ERROR_HARDWARE_STACK_ERROR
	715: true, // CUDA_ERROR_ILLEGAL_INSTRUCTION
	716: true, // CUDA_ERROR_MISALIGNED_ADDRESS
	717: true, // CUDA_ERROR_INVALID_ADDRESS_SPACE
	718: true, // CUDA_ERROR_INVALID_PC
	719: true, // CUDA_ERROR_LAUNCH_FAILED
	721: true, // CUDA_ERROR_TENSOR_MEMORY_LEAK
}

// Error is a driver call that did not succeed.
type Error struct {
	Call   string // as in the driver's documentation, without version suffix
	Detail string // the arguments that matter, with units
	Device int    // ordinal, or -1 before a device is chosen
	Code   Result
	Name   string // of Code, as the driver names it
	Text   string // of Code, as the driver explains it
}

func (e *Error) Error() string {
	where := ""
	if e.Device >= 0 {
		where = fmt.Sprintf(" on gpu%d", e.Device)
	}
	detail := ""
	if e.Detail != "" {
		detail = " " + e.Detail
	}
	return fmt.Sprintf("cuda: %s%s%s: %s (%s, CUresult %d)", e.Call, detail, where, e.Text, e.Name, e.Code)
}

// Sticky reports whether err says that its context is lost: every later call
// on it fails until it is destroyed and made anew.
func Sticky(err error) bool {
	var e *Error
	return errors.As(err, &e) && sticky[e.Code]
}

// Is reports whether err is a driver error with this code.
func Is(err error, code Result) bool {
	var e *Error
	return errors.As(err, &e) && e.Code == code
}

// fail makes the error of a call; nil for Success. detail is formatted only
// when there is an error.
func (d *Driver) fail(code Result, ordinal int, call, detail string, args ...any) error {
	if code == Success {
		return nil
	}
	e := &Error{Call: call, Detail: fmt.Sprintf(detail, args...), Device: ordinal, Code: code,
		Name: "unknown name", Text: "unknown error"}
	var text *byte
	if d.fn.GetErrorName(code, &text) == Success && text != nil {
		e.Name = textAt(text)
	}
	text = nil
	if d.fn.GetErrorString(code, &text) == Success && text != nil {
		e.Text = textAt(text)
	}
	return e
}

// textAt copies a C string.
func textAt(p *byte) string {
	n := 0
	// SAFETY: p points into the driver's constant text, which ends in a zero.
	for *(*byte)(unsafe.Add(unsafe.Pointer(p), n)) != 0 {
		n++
	}
	return string(unsafe.Slice(p, n))
}
