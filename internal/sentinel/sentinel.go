// Package sentinel holds the kinds of errors that callers act on. They are here
// because the scheduler, the ledger and host memory, which package backend
// cannot know of, return them too; engine/backend and engine give the same
// values to users.
package sentinel

import "errors"

var (
	// ErrInternal is a panic that was contained: a bug of ours.
	ErrInternal = errors.New("internal error")

	// ErrClosed is returned by whatever has been closed: an engine, a device, a
	// scheduler, a queue.
	ErrClosed = errors.New("closed")

	// ErrNoDevice means that a device is not there or not usable.
	ErrNoDevice = errors.New("no such device")

	// ErrNotReady means that there is no device now, and that asking again may help.
	ErrNotReady = New(ErrNoDevice, "driver is not ready")

	// ErrDevice is a failure of a device after which it can go on.
	ErrDevice = errors.New("device failed")

	// ErrDeviceLost means that nothing works on a device until it is reset.
	ErrDeviceLost = errors.New("device is lost until it is reset")

	// ErrDeviceMemory means that a device has too little memory.
	ErrDeviceMemory = errors.New("not enough device memory")

	// ErrHostMemory means that the system gave no memory.
	ErrHostMemory = errors.New("not enough host memory")
)

// Wrap makes err of one more kind. Its text stays as it is.
func Wrap(kind, err error) error { return &wrapped{kind, err} }

// New makes a sentinel that is of a kind and has a text of its own.
func New(kind error, text string) error { return Wrap(kind, errors.New(text)) }

type wrapped struct{ kind, err error }

func (w *wrapped) Error() string   { return w.err.Error() }
func (w *wrapped) Unwrap() []error { return []error{w.kind, w.err} }
