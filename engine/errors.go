package engine

import (
	"errors"
	"fmt"

	"github.com/libcuzk/libcuzk/engine/backend"
	"github.com/libcuzk/libcuzk/engine/srs"
)

// The engine's own errors; those of assignments and proofs are in groth16,
// those of parameter files in srs. All are matched with errors.Is.
var (
	// ErrCancelled is a job's outcome after Cancel.
	ErrCancelled = errors.New("engine: job was cancelled")

	// ErrUnsatisfied means that the finished proof does not verify with the
	// parameters' own key, so that it was withheld.
	ErrUnsatisfied = errors.New("engine: self-check failed")

	// ErrOption is an option or setting out of range.
	ErrOption = errors.New("engine: option out of range")

	// ErrReleased is returned for an SRS whose last reference was given back.
	ErrReleased = srs.ErrReleased
)

// The kinds of errors that devices return, and the engine too.
var (
	// ErrClosed is returned by every call after Close, and by the jobs that
	// Close cut short.
	ErrClosed = backend.ErrClosed

	// ErrNoDevice means that the device asked for is not there or not usable.
	ErrNoDevice = backend.ErrNoDevice

	// ErrDevice is a failure of a device after which it can go on.
	ErrDevice = backend.ErrDevice

	// ErrDeviceLost means that a device failed so that nothing works on it until
	// it is reset, which the engine does. A job gets it whose rows could not be
	// read again, or whose device was lost again.
	ErrDeviceLost = backend.ErrDeviceLost

	// ErrDeviceMemory means that a device has too little memory for the job.
	ErrDeviceMemory = backend.ErrDeviceMemory

	// ErrHostMemory means that the system gave no memory.
	ErrHostMemory = backend.ErrHostMemory

	// ErrInternal is a panic that was contained, in the engine or in a device:
	// a bug of ours.
	ErrInternal = backend.ErrInternal
)

// What the engine itself returns of them.
var (
	errClosed   = fmt.Errorf("engine: %w", ErrClosed)
	errNoDevice = fmt.Errorf("engine: %w", ErrNoDevice)
	errReleased = fmt.Errorf("engine: %w", ErrReleased)
)
