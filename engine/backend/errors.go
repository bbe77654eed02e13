package backend

import (
	"time"

	"github.com/libcuzk/libcuzk/internal/sentinel"
)

// The kinds of errors that devices and providers return, beside those of
// assignments (package groth16) and of parameter files (package srs). They are
// matched with errors.Is.
var (
	// ErrInternal is a panic that was contained: a bug of ours. A device that
	// works on goroutines of its own must contain theirs, since nobody else can.
	ErrInternal = sentinel.ErrInternal

	// ErrClosed is returned once a device is closed.
	ErrClosed = sentinel.ErrClosed

	// ErrNoDevice means that a provider has no device, and why.
	ErrNoDevice = sentinel.ErrNoDevice

	// ErrNotReady means that a provider has no device now and may have some later.
	// It is ErrNoDevice too.
	ErrNotReady = sentinel.ErrNotReady

	// ErrDevice is a failure of a device after which it can go on.
	ErrDevice = sentinel.ErrDevice

	// ErrDeviceLost means that nothing works on a device until it is reset. The
	// partition has not been proved; it can be, on another device or on this one
	// later.
	ErrDeviceLost = sentinel.ErrDeviceLost

	// ErrDeviceMemory means that a device has too little memory: less than a
	// partition needs of its budget, or less than others leave of it.
	ErrDeviceMemory = sentinel.ErrDeviceMemory

	// ErrHostMemory means that the system gave no memory.
	ErrHostMemory = sentinel.ErrHostMemory
)

// BusyError is a device that cannot be opened now, because other processes use
// too much of it. Open has taken its time to find out, about a second if it is
// worth trying again.
type BusyError struct {
	Wait time.Duration // how long it is worth trying again; 0: not at all
	Err  error
}

func (e *BusyError) Error() string { return e.Err.Error() }
func (e *BusyError) Unwrap() error { return e.Err }

// UnusableError is a device that is listed as usable and turned out not to be when
// it was opened: its kernels are damaged, or there are none for it. Open returns
// it; it is ErrNoDevice too. Asking again is of no use before the process ends.
type UnusableError struct{ Err error }

func (e *UnusableError) Error() string { return e.Err.Error() }
func (e *UnusableError) Unwrap() error { return e.Err }

// Is reports that a device which is not usable is none.
func (e *UnusableError) Is(target error) bool { return target == ErrNoDevice }

// GoneError is a device that was lost and cannot be used again for as long as
// the process lives. Open, Load and Prove return it; it is ErrDeviceLost too.
// Its text says what to do.
type GoneError struct{ Err error }

func (e *GoneError) Error() string { return e.Err.Error() }
func (e *GoneError) Unwrap() error { return e.Err }

// Is reports that a device which is gone is lost.
func (e *GoneError) Is(target error) bool { return target == ErrDeviceLost }
