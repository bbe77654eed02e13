package engine

import (
	"errors"

	"github.com/libcuzk/libcuzk/engine/backend"
)

// The engine's own errors; those of assignments and proofs are in groth16,
// those of parameter files in srs. All are matched with errors.Is.
var (
	// ErrClosed is returned by every call after Close, and by the jobs that
	// Close cut short.
	ErrClosed = errors.New("engine: closed")

	// ErrCancelled is a job's outcome after Cancel.
	ErrCancelled = errors.New("engine: job was cancelled")

	// ErrReleased is returned for an SRS whose last reference was given back.
	ErrReleased = errors.New("engine: parameter set was released")

	// ErrNoDevice means that the device asked for is not there or not usable.
	ErrNoDevice = errors.New("engine: no such device")

	// ErrUnsatisfied means that the finished proof does not verify with the
	// parameters' own key, so that it was withheld.
	ErrUnsatisfied = errors.New("engine: self-check failed")

	// ErrInternal is a panic that was contained, in the engine or in a device:
	// a bug of ours.
	ErrInternal = backend.ErrInternal

	// ErrOption is an option or setting out of range.
	ErrOption = errors.New("engine: option out of range")
)
