package sched

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/libcuzk/libcuzk/internal/vram"
)

// Loading is a parameter set on its way into VRAM in the background. It holds
// no ticket and no turn, and never a resource that a ticket may ask for.
type Loading struct {
	s      *Scheduler
	set    *vram.Set
	cancel context.CancelCauseFunc
	used   bool // guarded by s.mem
}

// Block is the set's place.
func (l *Loading) Block() vram.Block { return l.set.Block() }

// Promote makes n.Set resident in the background, so that later jobs of the
// same need find it in VRAM. fill enqueues the copies, piece by piece; when
// Promote returns nil they have all completed. One load runs at a time.
//
// It returns ErrNotNow if there is no room that is not in use, if n's blocks
// would no longer fit beside the sets, or if making room would evict a set
// used within the last vram.PromoteAfter jobs; also when a job needs the room
// after all. Then nothing has changed. A set that is resident already is nil.
func (s *Scheduler) Promote(ctx context.Context, n vram.Need, fill func(context.Context, *Loading) error) error {
	if n.Set == nil || n.Resident == nil {
		return fmt.Errorf("sched: promote: need has no parameter set or no resident tier")
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	l := &Loading{s: s, set: n.Set, cancel: cancel}
	if done, err := l.begin(n); done || err != nil {
		return err
	}
	return l.end(l.run(ctx, fill))
}

// begin takes the set's place. It reports true if there is nothing to do.
func (l *Loading) begin(n vram.Need) (bool, error) {
	s := l.s
	s.mem.Lock()
	defer s.mem.Unlock()
	s.sweepLocked()
	switch {
	case s.closed:
		return false, errClosed
	case s.lost != nil:
		return false, s.lost
	case n.Set.Loaded():
		return true, nil
	case s.load != nil || !s.ledger.BeginLoad(n):
		return false, ErrNotNow
	}
	if err := s.mapLocked([]vram.Block{n.Set.Block()}); err != nil {
		s.ledger.EndLoad(n.Set, false, nil)
		s.broadcastLocked()
		return false, err
	}
	s.load = l
	return false, nil
}

func (l *Loading) run(ctx context.Context, fill func(context.Context, *Loading) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			if keepPanicking(p) {
				panic(p)
			}
			err = fmt.Errorf("BUG: sched: load of %s panicked: %v\n%s", l.set.Name(), p, debug.Stack())
		}
	}()
	if err := fill(ctx, l); err != nil {
		return err
	}
	m, err := l.Record()
	if err != nil {
		return err
	}
	return l.Await(ctx, m)
}

// end makes the set resident, or gives its place back behind its fence, and
// returns when no copy runs any more.
func (l *Loading) end(err error) error {
	s := l.s
	s.mem.Lock()
	var m *Mark
	var lost error
	if err != nil && l.used {
		m, lost = s.markLocked(Load)
	}
	switch {
	case lost != nil:
		s.ledger.PoisonLoad(l.set)
	case m != nil:
		s.ledger.EndLoad(l.set, false, []*Mark{m})
	default:
		s.ledger.EndLoad(l.set, err == nil, nil)
	}
	s.mem.Unlock()

	drained := s.await(context.Background(), "the load's last copy", watch, func() (bool, error) {
		return s.unlessLost(m == nil || m.Done)
	})
	s.mem.Lock()
	defer s.mem.Unlock()
	s.load = nil
	s.broadcastLocked()
	return errors.Join(err, lost, drained)
}

// Enqueue waits until the set's place may be written, then calls launch, which
// enqueues work on the Load stream that touches the set and nothing else. It
// holds the compute lock during launch, which must not wait.
func (l *Loading) Enqueue(ctx context.Context, launch func() error) error {
	s := l.s
	err := s.await(ctx, "a parameter set's fence", watch, func() (bool, error) {
		for _, f := range l.set.Before() {
			if !f.Passed() {
				return false, s.lost
			}
		}
		return true, s.lost
	})
	if err != nil {
		return err
	}
	defer l.enqueued()
	return s.checked(s.underComputeLock(launch)())
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

// Resident reports whether set is in VRAM now.
func (s *Scheduler) Resident(set *vram.Set) bool {
	s.mem.Lock()
	defer s.mem.Unlock()
	return set.Loaded()
}

// Noted passes an error on that the device gave outside of any job, noting if
// it says that the device is lost.
func (s *Scheduler) Noted(err error) error { return s.checked(err) }

// Settles is vram.Ledger.Settles of now.
func (s *Scheduler) Settles(n vram.Need) bool {
	s.mem.Lock()
	defer s.mem.Unlock()
	return s.ledger.Settles(n)
}

// Drop gives up set's place in VRAM as soon as no ticket pins it. It does not
// wait. A load of it in the background is called off.
func (s *Scheduler) Drop(set *vram.Set) {
	s.mem.Lock()
	defer s.mem.Unlock()
	s.ledger.Drop(set)
	if s.load != nil && s.load.set == set {
		s.load.cancel(ErrNotNow)
	}
	s.broadcastLocked()
}
