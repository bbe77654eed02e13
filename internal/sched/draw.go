package sched

import (
	"context"
	"fmt"

	"github.com/libcuzk/libcuzk/internal/vram"
)

// drawing is a partition on its way to a ticket, and to its claim. While it
// waits for a parameter set, or is held back by a load, it has no ticket, and so
// nobody waits for it.
type drawing struct {
	s    *Scheduler
	need vram.Need
	fill Fill

	// Guarded by s.mem.

	load   *Loading // of its set, until it has claimed that; nil: it did not have to wait
	heldBy *Loading // the load that holds it back; nil: none
}

// draw gives a partition its ticket. It waits, as w says without a worker, until
// the partition's set is loaded, if it needs that, and until no load holds it
// back.
func (d *drawing) draw(ctx context.Context, w Work) (*Ticket, error) {
	for {
		t, over, err := d.try(ctx)
		if t != nil || err != nil {
			return t, err
		}
		wait := func() error { return d.s.await(ctx, "a load", noWatch, over) }
		if w.Park != nil {
			err = w.Park(wait)
		} else {
			err = wait()
		}
		if err != nil {
			return nil, err
		}
	}
}

// try draws a ticket, or returns the condition to wait for before another try.
func (d *drawing) try(ctx context.Context) (t *Ticket, over func() (bool, error), err error) {
	s := d.s
	s.mem.Lock()
	defer s.mem.Unlock()
	if err := d.checkLocked(); err != nil {
		return nil, nil, err
	}
	n := s.ledger.Usable(d.need)
	if s.ledger.Away(n) {
		if d.fill == nil {
			return nil, nil, fmt.Errorf("sched: parameter set %s is not loaded, and nothing is given that loads it", n.Set.Name())
		}
		d.waitLocked()
		return nil, d.load.overLocked, nil
	}
	if by := s.holdsBackLocked(n); by != nil {
		d.holdBackLocked(by)
		return nil, func() (bool, error) {
			return s.lost != nil || s.closed || s.holdsBackLocked(n) == nil || s.ledger.Away(n), nil
		}, nil
	}
	d.holdBackLocked(nil)
	t = &Ticket{s: s, number: s.next, need: n, drawing: d}
	t.ctx, t.cancel = context.WithCancelCause(ctx)
	s.next++
	s.outstanding[t] = struct{}{}
	return t, nil, nil
}

// checkLocked refuses what cannot go on.
func (d *drawing) checkLocked() error {
	s := d.s
	switch {
	case s.closed:
		return errClosed
	case s.lost != nil:
		return s.lost
	case d.load != nil && d.load.err != nil:
		return d.load.err
	}
	return s.ledger.Check(d.need)
}

// waitLocked makes the partition wait for its set, once.
func (d *drawing) waitLocked() {
	d.holdBackLocked(nil) // the next load, which may be its own, waits for who is held back
	if d.load == nil {
		d.load = d.s.loadOfLocked(d.need, d.fill)
		d.load.waiting++
	}
}

// holdBackLocked notes which load holds the partition back; nil: none.
func (d *drawing) holdBackLocked(by *Loading) {
	if d.heldBy == by {
		return
	}
	if d.heldBy != nil {
		d.heldBy.heldBack--
		d.s.broadcastLocked()
	}
	if d.heldBy = by; by != nil {
		by.heldBack++
	}
}

// notWaitingLocked notes that the partition has claimed its set, or gives up.
// When all have that waited for a load, it has been served and holds nobody back;
// whoever needs the set from now on joins a new load.
func (d *drawing) notWaitingLocked() {
	l := d.load
	if l == nil {
		return
	}
	d.load = nil
	l.waiting--
	if l.waiting > 0 {
		return
	}
	switch {
	case l.need.Set.Loaded():
		l.served = true
		d.s.ledger.Await(l.need.Set, false)
	case !l.kept && l.cancel != nil:
		l.cancel(errUnwanted)
	}
	d.s.broadcastLocked()
}

// leave ends the drawing, however far it came.
func (d *drawing) leave() {
	d.s.mem.Lock()
	defer d.s.mem.Unlock()
	d.holdBackLocked(nil)
	d.notWaitingLocked()
}

// holdsBackLocked is the load for which no ticket of n is drawn now; nil: none.
// While partitions wait for the first load in line, no ticket is drawn that
// might have to call it off, and none at all if it has had no place for too
// long. n's own set is not away.
func (s *Scheduler) holdsBackLocked(n vram.Need) *Loading {
	if len(s.loads) == 0 {
		return nil
	}
	l := s.loads[0]
	set := l.need.Set
	switch {
	case l.waiting == 0 || l.served || l.err != nil || n.Set == set:
		return nil
	case l.placed || set.Loaded():
		if s.ledger.FitsBeside(n, set) {
			return nil
		}
	case s.ledger.Clock()-l.since < patience:
		return nil
	}
	return l
}
