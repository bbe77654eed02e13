package sched

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/libcuzk/libcuzk/internal/vram"
)

// Fill fills a parameter set's place: it enqueues the copies with l.Enqueue,
// piece by piece, and returns nil once it knows that the points are valid. It
// runs on a goroutine of the scheduler's, holds no lock, and must return soon
// after ctx ends.
type Fill func(ctx context.Context, l *Loading) error

// Loading is a parameter set that has to be loaded: it stands in line, is on its
// way into VRAM, or is there and has not been claimed by all that waited for it.
//
// Loads run one at a time, in the background. A load holds no ticket and no
// turn, has a stream of its own, and waits for recorded fences only. Its methods
// are for its Fill.
type Loading struct {
	s    *Scheduler
	need vram.Need // of a partition that needs the set
	fill Fill

	// The rest is guarded by s.mem.

	waiting  int  // partitions that wait for the set, or have and not claimed it yet; calls of Load
	kept     bool // goes on when nobody waits: begun for partitions that stream
	heldBack int  // partitions whose ticket is not drawn because of it

	ctx      context.Context // of the attempt to load
	cancel   context.CancelCauseFunc
	placed   bool    // the set has its place and is not loaded yet
	used     bool    // copies have been enqueued
	since    uint64  // claims when it came to be the first in line
	yieldsTo *Ticket // has called it off and not claimed yet; nil: none
	served   bool    // loaded, and claimed by all that waited
	err      error   // why it failed
}

// patience is the number of claims past a load that is the first in line, has no
// place yet and is waited for, after which no ticket is drawn until it has one.
const patience = 8

// Causes of the end of an attempt to load. Neither leaves this file.
var (
	errCalledOff = errors.New("sched: the load was called off")
	errUnwanted  = errors.New("sched: nobody waits for the load")
)

// Block is the set's place.
func (l *Loading) Block() vram.Block { return l.need.Set.Block() }

// Load loads n.Set and returns when it is in VRAM, or with the error of fill.
// Callers and partitions that need a set at a time share one load. When ctx ends,
// it goes on for the others, or is cancelled and leaves nothing.
//
// Errors: those of fill, *vram.TooLargeError, ErrDeviceLost, ErrNoMemory,
// ErrClosed. A panic of fill becomes an error that begins with BUG.
func (s *Scheduler) Load(ctx context.Context, n vram.Need, fill Fill) error {
	n.Streaming = nil
	d := &drawing{s: s, need: n, fill: fill}
	defer d.leave()
	loaded, err := d.join()
	if loaded || err != nil {
		return err
	}
	return s.await(ctx, "a parameter set", noWatch, d.load.overLocked)
}

// join makes a caller of Load wait for its set, or reports that it is loaded.
func (d *drawing) join() (loaded bool, err error) {
	d.s.mem.Lock()
	defer d.s.mem.Unlock()
	if err := d.checkLocked(); err != nil || d.need.Set.Loaded() {
		return err == nil, err
	}
	d.waitLocked()
	return false, nil
}

// overLocked is the condition of whoever waits for the load.
func (l *Loading) overLocked() (bool, error) { return l.need.Set.Loaded(), l.err }

// loadOfLocked finds the load of n's set that can still be joined, or makes one,
// the last in line.
func (s *Scheduler) loadOfLocked(n vram.Need, fill Fill) *Loading {
	for _, l := range s.loads {
		if l.need.Set == n.Set && !l.served && l.err == nil {
			return l
		}
	}
	l := &Loading{s: s, need: n, fill: fill}
	s.enterLineLocked(l)
	return l
}

// enterLineLocked puts l into the line. A load that nobody waits for goes.
func (s *Scheduler) enterLineLocked(l *Loading) {
	s.loads = append(s.loads, l)
	if first := s.loads[0]; first.placed && first.waiting == 0 && first != l {
		first.cancel(errUnwanted)
	}
	if !s.carrying {
		s.carrying = true
		s.background.Go(s.carryLoads)
	}
}

// keepLocked begins to load the set of a ticket that streams, if there is room.
func (s *Scheduler) keepLocked(t *Ticket) {
	n := t.need
	if t.resident || n.Resident == nil || t.drawing.fill == nil || len(s.loads) > 0 || !s.ledger.BeginLoad(n, false) {
		return
	}
	l := &Loading{s: s, need: n, fill: t.drawing.fill, kept: true}
	l.attemptLocked()
	if l.mapLocked() == nil {
		s.enterLineLocked(l)
	}
}

// attemptLocked notes that the set has got its place.
func (l *Loading) attemptLocked() {
	l.placed, l.used = true, false
	if l.ctx == nil {
		l.ctx, l.cancel = context.WithCancelCause(context.Background())
	}
}

// carryLoads carries the loads in line, until there is none.
func (s *Scheduler) carryLoads() {
	for l := s.firstLoad(); l != nil; l = s.firstLoad() {
		for !l.leaves(l.load()) {
		}
		l.leaveLine()
	}
}

// firstLoad makes the first load in line the one that holds others back.
func (s *Scheduler) firstLoad() *Loading {
	s.mem.Lock()
	defer s.mem.Unlock()
	if len(s.loads) == 0 {
		s.carrying = false
		return nil
	}
	l := s.loads[0]
	l.since = s.ledger.Clock()
	return l
}

// load places and fills the set, and waits until all have claimed it that
// waited for it.
func (l *Loading) load() error {
	s := l.s
	if err := l.place(); err != nil {
		return err
	}
	if err := l.end(l.run()); err != nil {
		return err
	}
	return s.await(context.Background(), "those that waited for a parameter set", noWatch, func() (bool, error) {
		switch {
		case l.served:
			return true, nil
		case s.closed:
			return false, errClosed
		case s.lost != nil:
			return false, s.lost
		case !l.need.Set.Loaded(): // evicted for a ticket that was drawn before
			return false, errCalledOff
		}
		return false, nil
	})
}

// leaves ends a load's attempt, and reports false if there has to be another.
func (l *Loading) leaves(err error) bool {
	s := l.s
	s.mem.Lock()
	defer s.mem.Unlock()
	again := errors.Is(err, errCalledOff) || errors.Is(err, errUnwanted)
	if again && l.waiting > 0 {
		return false
	}
	if err != nil && l.kept {
		s.ledger.StayAway(l.need.Set)
	}
	l.err = err
	s.ledger.Await(l.need.Set, false)
	s.broadcastLocked()
	return true
}

// leaveLine lets those draw their tickets first that l has held back.
func (l *Loading) leaveLine() {
	s := l.s
	_ = s.await(context.Background(), "those that a load has held back", noWatch, func() (bool, error) {
		return l.heldBack == 0 || s.lost != nil || s.closed, nil
	})
	s.mem.Lock()
	defer s.mem.Unlock()
	s.loads = s.loads[1:]
	s.broadcastLocked()
}

// place waits until the set has its place with physical memory.
func (l *Loading) place() error {
	s := l.s
	s.mem.Lock()
	placed := l.placed
	if !placed {
		l.ctx, l.cancel = context.WithCancelCause(context.Background())
		if l.waiting == 0 {
			l.cancel(errUnwanted)
		}
	}
	s.mem.Unlock()
	if placed {
		return nil
	}
	return s.besideNeighbours(l.ctx, l.placeOnce)
}

// placeOnce is place without waiting for other processes.
func (l *Loading) placeOnce() error {
	s := l.s
	err := s.await(l.ctx, "room for a parameter set", noWatch, func() (bool, error) {
		s.sweepLocked()
		switch {
		case s.closed:
			return false, errClosed
		case s.lost != nil:
			return false, s.lost
		case l.yieldsTo != nil || !s.ledger.BeginLoad(l.need, true):
			return false, nil
		}
		l.attemptLocked()
		return true, nil
	})
	if err != nil {
		return err
	}
	s.mem.Lock()
	defer s.mem.Unlock()
	return l.mapLocked()
}

// mapLocked puts physical memory under the set's place. If there is not enough
// the place is given back.
func (l *Loading) mapLocked() error {
	s := l.s
	err := s.mapLocked([]vram.Block{l.Block()})
	if err != nil {
		l.placed = false
		s.ledger.CancelLoad(l.need.Set, nil)
		s.broadcastLocked()
	}
	return err
}

// run fills the set and waits for the last copy.
func (l *Loading) run() (err error) {
	defer func() {
		if p := recover(); p != nil {
			if keepPanicking(p) {
				panic(p)
			}
			err = fmt.Errorf("BUG: sched: the load of %s panicked: %v\n%s", l.need.Set.Name(), p, debug.Stack())
		}
	}()
	err = l.s.checked(l.fill(l.ctx, l))
	if cause := context.Cause(l.ctx); cause != nil && !errors.Is(err, ErrDeviceLost) {
		return cause
	}
	if err != nil {
		return err
	}
	m, err := l.Record()
	if err != nil {
		return err
	}
	return l.Await(l.ctx, m)
}

// end makes the set resident, or frees its place behind the load's fence, and
// returns when no copy runs any more.
func (l *Loading) end(err error) error {
	s, set := l.s, l.need.Set
	s.mem.Lock()
	var m *Mark
	var lost error
	if err != nil && l.used {
		m, lost = s.markLocked(Load)
	}
	l.placed = false
	switch {
	case err == nil:
		s.ledger.EndLoad(set)
		s.loaded++
		l.served = l.waiting == 0
		s.ledger.Await(set, !l.served)
	case lost != nil:
		s.ledger.PoisonLoad(set)
	case m != nil:
		s.ledger.CancelLoad(set, []*Mark{m})
	default:
		s.ledger.CancelLoad(set, nil)
	}
	s.broadcastLocked()
	s.mem.Unlock()
	drained := s.await(context.Background(), "the load's last copy", watch, func() (bool, error) {
		return s.unlessLost(m == nil || m.Done)
	})
	if lost != nil || drained != nil {
		return errors.Join(lost, drained, err)
	}
	return err
}

// Enqueue waits until the set's place may be written, then calls launch, which
// enqueues work on the Load stream that touches the set and nothing else of the
// arena. It takes no lock during launch, which must not wait.
func (l *Loading) Enqueue(ctx context.Context, launch func() error) error {
	s := l.s
	err := s.await(ctx, "a parameter set's fence", watch, func() (bool, error) {
		for _, f := range l.need.Set.Before() {
			if !f.Passed() {
				return false, s.lost
			}
		}
		return true, s.lost
	})
	if err != nil {
		return err
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	defer l.enqueued()
	return s.checked(launch())
}

func (l *Loading) enqueued() {
	l.s.mem.Lock()
	defer l.s.mem.Unlock()
	l.used = true
	l.s.tail[Load] = nil
}

// Record marks the tail of the Load stream.
func (l *Loading) Record() (*Mark, error) {
	l.s.mem.Lock()
	defer l.s.mem.Unlock()
	return l.s.markLocked(Load)
}

// Await returns once the work before m has completed.
func (l *Loading) Await(ctx context.Context, m *Mark) error {
	return l.s.await(ctx, "an event", watch, func() (bool, error) { return l.s.unlessLost(m.Done) })
}

// callOffLocked makes the load that has its place give it to t, the earliest
// ticket, which cannot be granted beside it though no other holds anything. It
// is not placed again before t has claimed.
func (s *Scheduler) callOffLocked(t *Ticket) {
	if len(s.loads) == 0 || !s.loads[0].placed || !s.ledger.Alone() {
		return
	}
	l := s.loads[0]
	l.yieldsTo = t
	l.cancel(errCalledOff)
}

// claimedLocked notes that t has claimed, or ended without.
func (s *Scheduler) claimedLocked(t *Ticket) {
	if len(s.loads) > 0 && s.loads[0].yieldsTo == t {
		s.loads[0].yieldsTo = nil
	}
}

// Noted passes an error on that the device gave outside of any ticket, noting if
// it says that the device is lost.
func (s *Scheduler) Noted(err error) error { return s.checked(err) }

// Settles is vram.Ledger.Settles of now.
func (s *Scheduler) Settles(n vram.Need) bool {
	s.mem.Lock()
	defer s.mem.Unlock()
	return s.ledger.Settles(n)
}

// Evict evicts set as soon as no ticket pins it. It does not wait. A load of it
// is called off.
func (s *Scheduler) Evict(set *vram.Set) {
	s.mem.Lock()
	defer s.mem.Unlock()
	s.ledger.Evict(set)
	if len(s.loads) > 0 && s.loads[0].placed && s.loads[0].need.Set == set {
		s.loads[0].cancel(errCalledOff)
	}
	s.broadcastLocked()
}

// evictAllLocked evicts all sets; a load is called off.
func (s *Scheduler) evictAllLocked() {
	s.ledger.EvictAll()
	if len(s.loads) > 0 && s.loads[0].placed {
		s.loads[0].cancel(errCalledOff)
	}
}
