package vram

import "slices"

// Away reports whether a partition of n has to wait until its set is loaded: it
// cannot stream, or not beside the load, for which there is room (Settles).
func (l *Ledger) Away(n Need) bool {
	s := n.Set
	switch {
	case s == nil || s.loaded || n.Resident == nil:
		return false
	case n.Streaming == nil:
		return true
	case s.placed():
		return !l.FitsBeside(n, s)
	}
	return l.Settles(n) && !l.settles(n, n.Streaming)
}

// Settles reports whether a partition of n finds its set resident, or may load
// it, if nobody holds anything then: there is room for the set and n's resident
// blocks beside the sets that were used in the last UnusedAfter claims, and the
// set has not itself been evicted for a partition in that time.
func (l *Ledger) Settles(n Need) bool {
	s := n.Set
	switch {
	case s == nil || n.Resident == nil:
		return false
	case s.placed():
		return true
	case l.clock < s.awayTo:
		return false
	}
	return l.settles(n, n.Resident)
}

// settles reports whether reqs fit beside n's set and the sets in use.
func (l *Ledger) settles(n Need, reqs []Request) bool {
	l.spans.tidy()
	_, empty := l.without(l.unused())
	bytes := roundUp(n.Set.bytes, Granule)
	off, ok := empty.highest(bytes, Granule, idle)
	if !ok {
		return false
	}
	empty.put(span{off: off, end: off + bytes, set: n.Set})
	return empty.holds(reqs)
}

// FitsBeside reports whether a ticket of n is sure to be granted while s stays
// where it is, once the ticket is the earliest and alone.
func (l *Ledger) FitsBeside(n Need, s *Set) bool {
	fits := func(reqs []Request, own *Set) bool {
		gone := slices.DeleteFunc(slices.Clone(l.sets), func(o *Set) bool { return o == s || o == own })
		_, empty := l.without(gone)
		return empty.holds(reqs)
	}
	switch {
	case n.Set == nil:
		return fits(n.Resident, nil)
	case n.Streaming != nil && fits(n.Streaming, nil):
		return true
	}
	return n.Resident != nil && n.Set.loaded && fits(n.Resident, n.Set)
}

// BeginLoad gives n.Set a place to be loaded into and pins it. For partitions
// that wait, it evicts any sets that nobody pins or awaits, the longest unused
// first. Else it evicts unused sets only, and n must be able to stream beside
// the load. It returns false if there is no room now, or if n's blocks would not
// fit beside the sets that stay.
func (l *Ledger) BeginLoad(n Need, awaited bool) bool {
	s := n.Set
	if s.placed() || n.Resident == nil || !awaited && l.clock < s.awayTo {
		return false
	}
	l.spans.tidy()
	victims := l.unused()
	beside := [][]Request{n.Resident, n.Streaming}
	if awaited {
		victims = slices.DeleteFunc(l.evictable(), func(o *Set) bool { return o.awaited })
		beside = beside[:1]
	}
	for k := range len(victims) + 1 {
		if !l.roomBeside(s, victims[:k], beside) {
			continue
		}
		ok := l.orNothing(func() bool {
			for _, v := range victims[:k] {
				l.evict(v)
			}
			return l.settle(s, fenced)
		})
		if ok {
			s.pins++
		}
		return ok
	}
	return false
}

// roomBeside reports whether s fits now, and each of beside would fit beside it
// on a device without tickets, if gone were evicted.
func (l *Ledger) roomBeside(s *Set, gone []*Set, beside [][]Request) bool {
	now, empty := l.without(gone)
	bytes := roundUp(s.bytes, Granule)
	off, ok := now.highest(bytes, Granule, fenced)
	if !ok {
		return false
	}
	empty.put(span{off: off, end: off + bytes, set: s})
	return !slices.ContainsFunc(beside, func(reqs []Request) bool { return !empty.holds(reqs) })
}

// without is the spans without some sets, as they are and without all tickets.
func (l *Ledger) without(gone []*Set) (now, empty spans) {
	now, empty = slices.Clone(l.spans), slices.Clone(l.spans)
	for i := range now {
		if slices.Contains(gone, now[i].set) {
			now[i].set, empty[i].set = nil, nil
		}
		if empty[i].set == nil {
			empty[i] = span{off: empty[i].off, end: empty[i].end}
		}
	}
	return now, empty
}

// holds reports whether reqs fit.
func (ss spans) holds(reqs []Request) bool {
	_, ok := ss.place(reqs, densest)
	return ok
}

// EndLoad ends a load: all copies have completed, and the points are valid. The
// set is resident.
func (l *Ledger) EndLoad(s *Set) {
	s.loaded = true
	s.before = nil
	s.lastUse = l.clock
	l.unpin(s)
}

// CancelLoad ends a load that failed: nothing is loaded. The place is free
// behind marks, which cover the load's copies, and the fences of its earlier
// holders.
func (l *Ledger) CancelLoad(s *Set, marks []*Mark) {
	use := &Fence{}
	use.Record(marks)
	l.Unpin(s, use)
}

// PoisonLoad ends a load whose copies could not be fenced.
func (l *Ledger) PoisonLoad(s *Set) {
	use := &Fence{}
	use.Poison()
	l.Unpin(s, use)
}

// Await notes whether partitions have waited for s and not claimed it yet.
func (l *Ledger) Await(s *Set, awaited bool) { s.awaited = awaited }
