package vram

import (
	"cmp"
	"slices"
)

// UnusedAfter is the number of claims after which a set that none of them used
// counts as unused: another set whose partitions could stream may be loaded in
// its place. A set that was evicted for a partition is not loaded for
// partitions that can stream for as many claims. So two sets used in turn under
// a budget for one are not swapped at every partition.
const UnusedAfter = 8

// Set is a parameter set that may be resident on one device. Its fields
// belong to the device's ledger.
type Set struct {
	name  string
	bytes uint64

	block    Block    // its place; Bytes is 0 if it has none
	before   []*Fence // to pass before anything is written there
	uses     []*Fence // of tickets that have ended their use
	pins     int      // tickets that use it, and its load
	loaded   bool     // the place holds the points
	awaited  bool     // partitions have waited for it and not claimed it yet
	evicting bool     // to be evicted as soon as it is not pinned
	lastUse  uint64   // Ledger.clock when last claimed or loaded
	awayTo   uint64   // Ledger.clock before which only a partition that cannot stream loads it
}

// NewSet describes a parameter set that takes bytes of VRAM.
func NewSet(name string, bytes uint64) *Set { return &Set{name: name, bytes: bytes} }

// Name is what messages call the set.
func (s *Set) Name() string { return s.name }

// Bytes is what the set takes when it is resident.
func (s *Set) Bytes() uint64 { return s.bytes }

// Block is where the set lies; call it only while the set is pinned.
func (s *Set) Block() Block { return s.block }

// Before are the fences that have to pass before the set is written to; none
// once it is loaded.
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
	s.uses, s.loaded, s.evicting = nil, false, false
	l.sets = append(l.sets, s)
	l.chunks.use(s.block)
	return true
}

// evictable are the sets that nobody pins, the longest unused first and those
// that are awaited last.
func (l *Ledger) evictable() []*Set {
	var free []*Set
	for _, s := range l.sets {
		if s.pins == 0 {
			free = append(free, s)
		}
	}
	slices.SortStableFunc(free, func(a, b *Set) int {
		if a.awaited != b.awaited {
			if b.awaited {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.lastUse, b.lastUse)
	})
	return free
}

// unused are the evictable sets that have not been used for UnusedAfter claims.
func (l *Ledger) unused() []*Set {
	return slices.DeleteFunc(l.evictable(), func(s *Set) bool { return s.awaited || l.clock-s.lastUse < UnusedAfter })
}

// evictForTicket evicts s for a ticket that cannot run beside it.
func (l *Ledger) evictForTicket(s *Set) {
	l.evict(s)
	l.StayAway(s)
}

// StayAway keeps s from being loaded for partitions that can stream, for
// UnusedAfter claims.
func (l *Ledger) StayAway(s *Set) { s.awayTo = l.clock + UnusedAfter }

// orNothing calls do, which evicts and places sets and may claim last. If it
// reports false the ledger is as it was. Pinned sets neither move nor change,
// since whoever pins one looks at its place without asking the ledger.
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

// evict makes s's place free behind the fences of its users. Nobody pins s.
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
	if s.pins == 0 && (s.evicting || !s.loaded) {
		l.evict(s)
	}
}

// Evict evicts s as soon as nobody pins it. It does not wait.
func (l *Ledger) Evict(s *Set) {
	if !s.placed() {
		return
	}
	s.evicting = true
	if s.pins == 0 {
		l.evict(s)
	}
}

// EvictAll evicts every set.
func (l *Ledger) EvictAll() {
	for _, s := range slices.Clone(l.sets) {
		l.Evict(s)
	}
}
