package sched

import (
	"context"
	"errors"
)

// Neighbours are other processes on the same device. Memory is physical only
// while it is needed, so each may plan with more than is left beside the
// others; who finds too little waits, and the others give back what lies idle.
// One process waits for memory at a time: two that wait hold what the other
// needs.
type Neighbours interface {
	// Ask tells the others that this process waits for memory, until release,
	// which is never nil. It waits for whoever has asked before, or for ctx.
	// No two goroutines call it at a time.
	Ask(ctx context.Context) (release func(), err error)
	// Asked reports whether another process waits. It never blocks.
	Asked() bool
	// Close is called by the scheduler's, after everything else.
	Close() error
}

// errWaited is the cause of a context when MemoryWait is over.
var errWaited = errors.New("sched: waited long enough for memory")

// ask tells the neighbours that a job waits. It is called in the claim turn.
func (s *Scheduler) ask(ctx context.Context) (release func(), err error) {
	if s.cfg.Neighbours == nil {
		return func() {}, nil
	}
	// The one that waits may wait for what lies idle here.
	if err := s.Trim(); err != nil {
		return func() {}, err
	}
	MayWait("another process")
	return s.cfg.Neighbours.Ask(ctx)
}

// yieldToNeighbours gives idle memory back if another process waits for some,
// the parameter sets too if no job is left. It is called when a job has ended.
func (s *Scheduler) yieldToNeighbours() {
	if s.cfg.Neighbours == nil || !s.cfg.Neighbours.Asked() {
		return
	}
	s.mem.Lock()
	if s.idleLocked() {
		s.ledger.DropAll()
	}
	s.mem.Unlock()
	// An error has been noted where it matters; the next job meets it.
	_ = s.Trim()
}

// dropIfIdle forgets all parameter sets if no ticket was drawn since there were
// drawn of them, and none is outstanding. A job that needs a set loads it again.
// It returns how many there are now.
func (s *Scheduler) dropIfIdle(drawn uint64) uint64 {
	asked := s.cfg.Neighbours != nil && s.cfg.Neighbours.Asked()
	s.mem.Lock()
	defer s.mem.Unlock()
	if s.idleLocked() && (asked || s.next == drawn) {
		s.ledger.DropAll()
	}
	return s.next
}

func (s *Scheduler) idleLocked() bool {
	return len(s.outstanding) == 0 && s.load == nil && s.lost == nil
}
