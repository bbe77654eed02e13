package vram

import (
	"cmp"
	"slices"
)

// PromoteAfter is how many claims in a row must have gone by without a
// resident set before another set that can be streamed may take its place, and
// how long a set that had to go for a job stays away. Two sets used in turn
// under a budget for one are therefore not swapped at every job.
const PromoteAfter = 8

// Set is a parameter set that may be resident on one device. Its fields
// belong to the device's ledger.
type Set struct {
	name  string
	bytes uint64

	block   Block    // its place; Bytes is 0 if it has none
	before  []*Fence // to pass before anything is written there
	uses    []*Fence // of jobs that used it and are gone
	pins    int      // tickets that use it, and the background load
	loaded  bool     // the place holds the points
	loading bool     // a background load has it
	dropped bool     // to go as soon as it is not pinned
	lastUse uint64   // Ledger.clock when last claimed
	awayTo  uint64   // Ledger.clock before which it is not loaded again: it had to go for a job
}

// NewSet describes a parameter set that takes bytes of VRAM.
func NewSet(name string, bytes uint64) *Set { return &Set{name: name, bytes: bytes} }

// Name is what messages call the set.
func (s *Set) Name() string { return s.name }

// Bytes is what the set takes when it is resident.
func (s *Set) Bytes() uint64 { return s.bytes }

// Block is where the set lies; call it only while the set is pinned.
func (s *Set) Block() Block { return s.block }

// Before are the fences that have to pass before the set is written to.
func (s *Set) Before() []*Fence { return s.before }

// Loaded reports whether the set's place holds its points.
func (s *Set) Loaded() bool { return s.loaded }

func (s *Set) placed() bool { return s.block.Bytes > 0 }

// settle gives s a place at the high end, on spans that cost at most limit.
func (l *Ledger) settle(s *Set, limit cost) bool {
	if s.bytes == 0 || s.bytes > l.bytes {
		return false
	}
	bytes := roundUp(s.bytes, Granule)
	off, ok := l.spans.highest(bytes, Granule, limit)
	if !ok {
		return false
	}
	s.block = Block{off, bytes}
	s.before = l.spans.put(span{off: off, end: off + bytes, set: s})
	s.uses, s.loaded, s.dropped = nil, false, false
	l.sets = append(l.sets, s)
	l.chunks.use(s.block)
	return true
}

// evictable are the sets that no ticket and no load uses, longest unused first.
func (l *Ledger) evictable() []*Set {
	var free []*Set
	for _, s := range l.sets {
		if s.pins == 0 {
			free = append(free, s)
		}
	}
	slices.SortStableFunc(free, func(a, b *Set) int { return cmp.Compare(a.lastUse, b.lastUse) })
	return free
}

// stale are the evictable sets that have not been used for PromoteAfter claims.
func (l *Ledger) stale() []*Set {
	return slices.DeleteFunc(l.evictable(), func(s *Set) bool { return l.clock-s.lastUse < PromoteAfter })
}

// yieldPlace evicts s for a job that cannot run beside it.
func (l *Ledger) yieldPlace(s *Set) {
	l.evict(s)
	s.awayTo = l.clock + PromoteAfter
}

// Settles reports whether a job of n finds its set resident, or may load it, if
// no other job holds anything then: there is room for the set and n's resident
// blocks beside the sets that were used in the last PromoteAfter claims, and the
// set has not itself had to go for a job in that time.
func (l *Ledger) Settles(n Need) bool {
	s := n.Set
	if s == nil || n.Resident == nil {
		return false
	}
	if s.placed() {
		return true
	}
	if s.bytes == 0 || l.clock < s.awayTo {
		return false
	}
	l.spans.tidy()
	_, empty := l.without(l.stale())
	bytes := roundUp(s.bytes, Granule)
	off, ok := empty.highest(bytes, Granule, idle)
	if !ok {
		return false
	}
	empty.put(span{off: off, end: off + bytes, set: s})
	_, ok = empty.place(n.Resident, densest)
	return ok
}

// settleFor gives n's set a place that does not push out a set in use, and
// claims n's resident blocks beside it, or does nothing: a set that is not in use
// goes only for a job that then has all it needs.
func (l *Ledger) settleFor(n Need) (*Claim, bool) {
	s := n.Set
	if s.bytes == 0 || l.clock < s.awayTo {
		return nil, false
	}
	stale := l.stale()
	for k := range len(stale) + 1 {
		if !l.roomBeside(n, stale[:k]) {
			continue
		}
		var c *Claim
		ok := l.orNothing(func() (ok bool) {
			for _, v := range stale[:k] {
				l.evict(v)
			}
			c, ok = l.settleAndTake(n, fenced)
			return ok
		})
		return c, ok
	}
	return nil, false
}

// settleAndTake gives n's set a place on spans that cost at most limit and
// claims n's resident blocks, or does nothing.
func (l *Ledger) settleAndTake(n Need, limit cost) (c *Claim, ok bool) {
	ok = l.orNothing(func() bool {
		if !l.settle(n.Set, limit) {
			return false
		}
		c, ok = l.take(n.Resident, n.Set)
		return ok
	})
	return c, ok
}

// orNothing calls do, which moves sets and may claim last. If it reports false
// the ledger is as it was. Pinned sets do not move, and are not written to: who
// pins one looks at its place without asking the ledger.
func (l *Ledger) orNothing(do func() bool) bool {
	spans, sets, claims := slices.Clone(l.spans), slices.Clone(l.sets), slices.Clone(l.chunks.claims)
	free := l.evictable()
	places := make([]Set, len(free))
	for i, s := range free {
		places[i] = *s
	}
	if do() {
		return true
	}
	for _, s := range l.sets {
		if !slices.Contains(sets, s) {
			s.leave()
		}
	}
	for i, s := range free {
		*s = places[i]
	}
	l.spans, l.sets, l.chunks.claims = spans, sets, claims
	return false
}

// evict takes s's place back, behind the fences of its users. Nobody pins s.
func (l *Ledger) evict(s *Set) {
	if s.pins > 0 {
		panic("BUG: vram: evicts a pinned parameter set")
	}
	left := unpassed(append(slices.Clone(s.uses), s.before...))
	for i := range l.spans {
		if l.spans[i].set == s {
			l.spans[i].set = nil
			l.spans[i].fences = left
		}
	}
	l.sets = slices.DeleteFunc(l.sets, func(o *Set) bool { return o == s })
	s.leave()
	l.spans.tidy()
}

// leave notes that s has no place.
func (s *Set) leave() { s.block, s.before, s.uses, s.loaded = Block{}, nil, nil, false }

// MarkLoaded says that all copies into s have been enqueued ahead of every
// use that a later ticket can enqueue.
func (l *Ledger) MarkLoaded(s *Set) { s.loaded = true }

// Unpin ends one ticket's use of s; use is its fence, recorded.
func (l *Ledger) Unpin(s *Set, use *Fence) {
	s.uses = unpassed(append(s.uses, use))
	l.unpin(s)
}

func (l *Ledger) unpin(s *Set) {
	if s.pins <= 0 {
		panic("BUG: vram: unpins a parameter set that is not pinned")
	}
	s.pins--
	// A place that was never filled is of no use to anybody.
	if s.pins == 0 && (s.dropped || !s.loaded) {
		l.evict(s)
	}
}

// Drop takes s's place back once nobody pins it. It does not wait.
func (l *Ledger) Drop(s *Set) {
	if !s.placed() {
		return
	}
	s.dropped = true
	if s.pins == 0 {
		l.evict(s)
	}
}

// DropAll drops every set.
func (l *Ledger) DropAll() {
	for _, s := range slices.Clone(l.sets) {
		l.Drop(s)
	}
}

// BeginLoad gives n.Set a place for a load in the background and pins it,
// evicting sets that have not been used for PromoteAfter claims. It returns
// false if there is no room now, or if n's blocks would then no longer fit
// beside the sets that stay.
func (l *Ledger) BeginLoad(n Need) bool {
	s := n.Set
	if s.placed() || s.bytes == 0 || Peak(n.Resident, s.bytes) > l.bytes {
		return false
	}
	l.spans.tidy()
	victims := l.stale()
	for k := range len(victims) + 1 {
		if !l.roomBeside(n, victims[:k]) {
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
			s.loading = true
			s.lastUse = l.clock
		}
		return ok
	}
	return false
}

// roomBeside reports whether n's set fits now, and n's blocks would fit
// beside it on a device without other jobs, if gone were evicted.
func (l *Ledger) roomBeside(n Need, gone []*Set) bool {
	now, empty := l.without(gone)
	bytes := roundUp(n.Set.bytes, Granule)
	off, ok := now.highest(bytes, Granule, fenced)
	if !ok {
		return false
	}
	empty.put(span{off: off, end: off + bytes, set: n.Set})
	_, ok = empty.place(n.Resident, densest)
	return ok
}

// without is the spans without some sets, as they are and without all jobs.
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

// EndLoad ends a background load: with ok the set is resident and all its
// copies have completed. Without, its place is given back behind marks.
func (l *Ledger) EndLoad(s *Set, ok bool, marks []*Mark) {
	s.loading = false
	s.loaded = ok
	use := &Fence{}
	use.Record(marks)
	l.Unpin(s, use)
}

// PoisonLoad ends a background load whose copies could not be fenced.
func (l *Ledger) PoisonLoad(s *Set) {
	s.loading = false
	use := &Fence{}
	use.Poison()
	l.Unpin(s, use)
}
