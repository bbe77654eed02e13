package sched

import (
	"context"
	"fmt"
	"runtime/debug"
)

// Lost is why the device is lost, or nil.
func (s *Scheduler) Lost() error {
	s.mem.Lock()
	defer s.mem.Unlock()
	return s.lost
}

// Recover makes a lost device usable again: it waits until all its jobs have
// failed and left, calls renew, which destroys the device's context, with all
// memory and events in it, and returns a new one, and starts with an empty
// ledger. Parameter sets have to be made resident anew. Of several callers one
// does it and the others wait; if the device is not lost nothing happens. If
// renew fails the device stays lost, and the next caller tries again; a panic of
// it becomes an error that begins with BUG.
func (s *Scheduler) Recover(ctx context.Context, renew func() (Device, error)) error {
	mine := false
	err := s.await(ctx, "the recovery of the device", noWatch, func() (bool, error) {
		switch {
		case s.closed:
			return false, errClosed
		case s.lost == nil:
			return true, nil
		case s.recovering || len(s.outstanding) > 0 || len(s.loads) > 0:
			return false, nil
		}
		s.recovering, mine = true, true
		return true, nil
	})
	if err != nil || !mine {
		return err
	}
	var dev Device // nil: renew has failed, or panics
	defer func() { s.renewed(dev) }()
	if dev, err = renewSafely(renew); err != nil {
		return fmt.Errorf("sched: make a new context for a lost device: %w", err)
	}
	return nil
}

// renewed ends a recovery; nil: the device stays lost.
func (s *Scheduler) renewed(dev Device) {
	s.mem.Lock()
	defer s.mem.Unlock()
	s.recovering = false
	if dev != nil {
		s.dev = dev
		s.ledger.Reset()
		s.pending = [Streams][]*Mark{}
		s.tail = [Streams]*Mark{}
		s.lost = nil
	}
	s.broadcastLocked()
}

func renewSafely(renew func() (Device, error)) (dev Device, err error) {
	defer func() {
		if p := recover(); p != nil {
			if keepPanicking(p) {
				panic(p)
			}
			dev, err = nil, fmt.Errorf("BUG: sched: the device's renewal panicked: %v\n%s", p, debug.Stack())
		}
	}()
	if dev, err = renew(); err != nil {
		return nil, err
	}
	return dev, nil
}
