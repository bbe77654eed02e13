package backend

import (
	"errors"
	"time"

	"github.com/libcuzk/libcuzk/internal/sched"
)

// ErrInternal is a panic that was contained: a bug of ours. A device that
// works on goroutines of its own must contain theirs, since nobody else can.
var ErrInternal = errors.New("internal error")

// BusyError is a device that cannot be opened now, because other processes use
// too much of it. Open has taken its time to find out, about a second if it is
// worth trying again.
type BusyError struct {
	Wait time.Duration // how long it is worth trying again; 0: not at all
	Err  error
}

func (e *BusyError) Error() string { return e.Err.Error() }
func (e *BusyError) Unwrap() error { return e.Err }

// GoneError is a device that was lost and cannot be used again for as long as
// the process lives. Open, Load and Prove return it; it is sched.ErrDeviceLost
// too. Its text says what to do.
type GoneError struct{ Err error }

func (e *GoneError) Error() string { return e.Err.Error() }
func (e *GoneError) Unwrap() error { return e.Err }

// Is reports that a device which is gone is lost.
func (e *GoneError) Is(target error) bool { return target == sched.ErrDeviceLost }
