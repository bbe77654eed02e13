package sched

import (
	"context"
	"errors"
	"time"
)

// Neighbours are other processes on the same device. Memory is physical only
// while it is needed, so each may plan with more than is left beside the
// others; who finds too little waits, and the others give back what lies idle.
// One process waits for memory at a time: two that wait hold what the other
// needs.
type Neighbours interface {
	// Ask tells the others that this process waits for memory, until release,
	// which is never nil. It waits for whoever has asked before, or for ctx.
	// No two goroutines of a process have asked at a time.
	Ask(ctx context.Context) (release func(), err error)
	// Asked reports whether another process waits. It never blocks.
	Asked() bool
	// Close is called by the scheduler's, after everything else.
	Close() error
}

// errWaited is the cause of a context when MemoryWait is over.
var errWaited = errors.New("sched: waited long enough for memory")

const (
	// lookForNeighbours is how often an idle process looks whether another
	// waits for memory. A look is two system calls.
	lookForNeighbours = 100 * time.Millisecond
	// giveWayFor is how long a process that has given everything back goes on
	// waiting for one that asks: if that is not enough, it waits for others.
	giveWayFor = time.Second
	// giveWayAgain is how long after that its jobs go on at once, if whoever asks
	// still does: anybody may hold the lock for ever.
	giveWayAgain = time.Minute
)

// ask tells the neighbours that a job waits. It is called in the claim turn.
// Who waits holds only what its jobs work on: two that wait, each beside the
// parameters of its last jobs, would wait for each other.
func (s *Scheduler) ask(ctx context.Context) (release func(), err error) {
	if s.cfg.Neighbours == nil {
		return func() {}, nil
	}
	if err := s.giveBack(); err != nil {
		return func() {}, err
	}
	MayWait("another process")
	select {
	case s.asking <- struct{}{}:
	case <-ctx.Done():
		return func() {}, context.Cause(ctx)
	}
	asked, err := s.cfg.Neighbours.Ask(ctx)
	return func() { asked(); <-s.asking }, err
}

// giveWay lets a process that waits for memory go first: a steady stream of
// jobs here would never let it in. Nothing is claimed meanwhile. It is called in
// the claim turn, and for a load before it has its place.
func (s *Scheduler) giveWay(ctx context.Context) error {
	if s.cfg.Neighbours == nil {
		return nil
	}
	if !s.cfg.Neighbours.Asked() {
		s.gaveWayAt(time.Time{})
		return nil
	}
	if s.gaveWayLately() {
		return nil
	}
	var empty time.Time // since when we hold nothing
	for s.cfg.Neighbours.Asked() {
		if err := s.giveBack(); err != nil {
			return err
		}
		switch {
		case s.Stats().Mapped > 0:
			empty = time.Time{}
		case empty.IsZero():
			empty = time.Now()
		case time.Since(empty) >= giveWayFor:
			s.gaveWayAt(time.Now())
			return nil
		}
		if err := sleep(ctx, retryMemory); err != nil {
			return err
		}
	}
	return nil
}

func (s *Scheduler) gaveWayAt(t time.Time) {
	s.mem.Lock()
	defer s.mem.Unlock()
	s.gaveWay = t
}

func (s *Scheduler) gaveWayLately() bool {
	s.mem.Lock()
	defer s.mem.Unlock()
	return !s.gaveWay.IsZero() && time.Since(s.gaveWay) < giveWayAgain
}

// giveBack gives back all memory that no job works on, the parameter sets too,
// those that jobs still use as soon as they have ended.
func (s *Scheduler) giveBack() error {
	s.mem.Lock()
	s.evictAllLocked()
	s.mem.Unlock()
	return s.Trim()
}

// yieldToNeighbours gives idle memory back if another process waits for some,
// the parameter sets too if no job is left.
func (s *Scheduler) yieldToNeighbours() {
	if s.cfg.Neighbours == nil || !s.cfg.Neighbours.Asked() {
		return
	}
	s.mem.Lock()
	if s.idleLocked() {
		s.ledger.EvictAll()
	}
	s.mem.Unlock()
	// An error has been noted where it matters; the next job meets it.
	_ = s.Trim()
}

// watchNeighbours yields also while no job ends.
func (s *Scheduler) watchNeighbours() {
	tick := time.NewTicker(lookForNeighbours)
	defer tick.Stop()
	for {
		select {
		case <-s.stopTrim:
			return
		case <-tick.C:
			s.yieldToNeighbours()
		}
	}
}

// evictIfIdle evicts all parameter sets if no ticket is outstanding, no set is
// being loaded, and the number of tickets drawn and sets loaded so far is still
// begun. It returns that number as it is now. A partition that needs a set loads
// it again.
func (s *Scheduler) evictIfIdle(begun uint64) uint64 {
	s.mem.Lock()
	defer s.mem.Unlock()
	if s.idleLocked() && s.next+s.loaded == begun {
		s.ledger.EvictAll()
	}
	return s.next + s.loaded
}

// idleLocked reports whether no partition and no load is on the device.
func (s *Scheduler) idleLocked() bool {
	return len(s.outstanding) == 0 && len(s.loads) == 0 && s.lost == nil
}
