package vram

import (
	"fmt"
	"math"
	"slices"
)

// Ledger says who holds which part of one device's budget. Blocks of jobs lie
// at the low end, parameter sets at the high end, and either may grow into
// what the other leaves.
type Ledger struct {
	bytes  uint64
	spans  spans
	holds  int    // holds not handed on
	sets   []*Set // that have a place
	clock  uint64 // counts claims, for the age of sets
	chunks chunks
}

// NewLedger returns an empty ledger. The budget is rounded down to a multiple
// of Granule. Physical memory comes and goes in chunks of chunkBytes, a
// multiple of Granule.
func NewLedger(budgetBytes, chunkBytes uint64) (*Ledger, error) {
	if chunkBytes == 0 || chunkBytes%Granule != 0 {
		return nil, fmt.Errorf("vram: chunk of %d bytes, expected a multiple of %d", chunkBytes, Granule)
	}
	bytes := roundDown(budgetBytes, Granule)
	if bytes == 0 {
		return nil, fmt.Errorf("vram: budget of %d bytes, expected at least %d", budgetBytes, Granule)
	}
	return &Ledger{
		bytes:  bytes,
		spans:  spans{{end: bytes}},
		chunks: newChunks(bytes, chunkBytes),
	}, nil
}

// Bytes is the budget.
func (l *Ledger) Bytes() uint64 { return l.bytes }

// Hold is one block in the hands of one job, from the claim until it is
// handed on.
type Hold struct {
	block    Block
	before   []*Fence // of the earlier holders, taken at the claim
	fence    *Fence   // this holder's own
	yielding bool     // the holder is in its compute turn
	done     bool     // handed on
}

// Block is where the hold lies.
func (h *Hold) Block() Block { return h.block }

// Before are the fences that have to pass before the block is used.
func (h *Hold) Before() []*Fence { return h.before }

// Claim is what a job holds.
type Claim struct {
	Blocks []*Hold // in the order of the requests
	Set    *Set    // pinned; nil if the job streams its set or has none
}

// maxBytes bounds a block and a set: far beyond any device, and far from
// overflow in sums.
const maxBytes = 1 << 62

// Check refuses a need that is not granted even to a ticket that is the earliest
// and alone on the device.
func (l *Ledger) Check(n Need) error {
	for _, r := range slices.Concat(n.Resident, n.Streaming) {
		if r.Bytes == 0 || r.Bytes > maxBytes {
			return fmt.Errorf("vram: block of %d bytes, expected 1 to 2^62", r.Bytes)
		}
	}
	switch s := n.Set; {
	case s == nil && n.Streaming != nil:
		return fmt.Errorf("vram: %d blocks for streaming, but no parameter set to stream", len(n.Streaming))
	case s != nil && (s.bytes == 0 || s.bytes > maxBytes):
		return fmt.Errorf("vram: parameter set %s of %d bytes, expected 1 to 2^62", s.name, s.bytes)
	case s != nil && n.Resident == nil && n.Streaming == nil:
		return fmt.Errorf("vram: no blocks in either tier for parameter set %s", s.name)
	}
	if least := min(n.peakResident(), n.peakStreaming()); least > l.bytes {
		return &TooLargeError{NeedBytes: least, BudgetBytes: l.bytes}
	}
	return nil
}

// Usable is n without the tier that never fits the budget, if there is one.
func (l *Ledger) Usable(n Need) Need {
	if n.peakResident() > l.bytes {
		n.Resident = nil
	}
	if n.peakStreaming() > l.bytes {
		n.Streaming = nil
	}
	return n
}

// peakResident is n's peak in the resident tier.
func (n Need) peakResident() uint64 {
	switch {
	case n.Set == nil:
		return Peak(n.Resident, 0)
	case n.Resident == nil:
		return math.MaxUint64
	}
	return Peak(n.Resident, n.Set.bytes)
}

// peakStreaming is n's peak in the streaming tier.
func (n Need) peakStreaming() uint64 {
	if n.Streaming == nil {
		return math.MaxUint64
	}
	return Peak(n.Streaming, 0)
}

// Claim gives a ticket all that n asks for, or nothing. It takes room that is
// free, room whose last use still runs, and room whose holder is in its compute
// turn; the fences of those come with it. It never places a set. It evicts sets
// only when nobody holds anything, so that waiting cannot help, and only if the
// ticket is granted then.
//
// Of two equal requests the first gets what can be used sooner.
//
// It returns false if the ticket has to wait for an earlier one to hand on, for
// a load to be called off, or for its own set to be loaded (Away).
func (l *Ledger) Claim(n Need) (*Claim, bool) {
	l.spans.tidy()
	if c, ok := l.claimBeside(n); ok {
		return c, true
	}
	if l.holds > 0 || n.Set != nil && !n.Set.loaded && n.Streaming == nil {
		return nil, false
	}
	gone := l.victimsFor(n)
	for k := range gone {
		var c *Claim
		if l.orNothing(func() (ok bool) {
			for _, s := range gone[:k+1] {
				l.evictForTicket(s)
			}
			c, ok = l.claimBeside(n)
			return ok
		}) {
			return c, true
		}
	}
	if s := n.Set; s != nil && s.pins == 0 && n.Streaming == nil && l.Alone() && !l.loads() {
		l.evict(s) // it lies in the way, and is loaded elsewhere
	}
	return nil, false
}

// victimsFor are the sets that a ticket of n may evict, in order: its own set,
// if it can do without, after the others and before those that are awaited.
func (l *Ledger) victimsFor(n Need) []*Set {
	all := slices.DeleteFunc(l.evictable(), func(s *Set) bool { return s == n.Set })
	if n.Set == nil || n.Set.pins > 0 || !n.Set.placed() || n.Streaming == nil {
		return all
	}
	i := slices.IndexFunc(all, func(s *Set) bool { return s.awaited })
	if i < 0 {
		i = len(all)
	}
	return slices.Insert(all, i, n.Set)
}

// Alone reports whether no ticket holds or pins anything.
func (l *Ledger) Alone() bool {
	return l.holds == 0 && !slices.ContainsFunc(l.sets, func(s *Set) bool { return s.pins > 0 && s.loaded })
}

// loads reports whether a set is being loaded.
func (l *Ledger) loads() bool {
	return slices.ContainsFunc(l.sets, func(s *Set) bool { return !s.loaded })
}

// claimBeside claims without evicting any set.
func (l *Ledger) claimBeside(n Need) (*Claim, bool) {
	switch {
	case n.Set == nil:
		return l.take(n.Resident, nil)
	case n.Set.loaded && n.Resident != nil:
		return l.take(n.Resident, n.Set)
	case n.Streaming != nil:
		return l.take(n.Streaming, nil)
	}
	return nil, false
}

// take claims blocks and pins s.
func (l *Ledger) take(reqs []Request, s *Set) (*Claim, bool) {
	blocks, ok := l.spans.place(reqs, soonest)
	if !ok {
		blocks, ok = l.spans.place(reqs, densest)
	}
	if !ok {
		return nil, false
	}
	l.clock++
	c := &Claim{Set: s}
	for i, b := range blocks {
		h := &Hold{block: b, fence: &Fence{late: reqs[i].Late}}
		h.before = l.spans.put(span{off: b.Offset, end: b.End(), hold: h})
		l.chunks.use(b)
		c.Blocks = append(c.Blocks, h)
		l.holds++
	}
	if s != nil {
		s.pins++
		s.lastUse = l.clock
	}
	return c, true
}

// Unclaim undoes a claim that was never used.
func (l *Ledger) Unclaim(c *Claim) {
	l.clock--
	for _, h := range c.Blocks {
		l.HandOn(h, nil)
	}
	if s := c.Set; s != nil {
		s.lastUse = min(s.lastUse, l.clock)
		l.unpin(s)
	}
}

// Clock is the number of claims so far.
func (l *Ledger) Clock() uint64 { return l.clock }

// Yield lets the next ticket claim h behind its holder, which has entered its
// compute turn and is sure to hand h on before that ends.
func (l *Ledger) Yield(h *Hold) { h.yielding = true }

// HandOn ends h: its fence is recorded with marks, one for each stream that
// touched it. Whoever claims the block next waits for them and for whatever h
// itself was claimed behind and has not passed.
func (l *Ledger) HandOn(h *Hold, marks []*Mark) {
	h.fence.Record(marks)
	l.release(h)
}

// Poison ends h when the device could not record its last use: nobody gets
// the block again before a reset.
func (l *Ledger) Poison(h *Hold) {
	h.fence.Poison()
	l.release(h)
}

func (l *Ledger) release(h *Hold) {
	if h.done {
		panic("BUG: vram: block handed on twice")
	}
	h.done = true
	l.holds--
	left := unpassed(append([]*Fence{h.fence}, h.before...))
	for i := range l.spans {
		if l.spans[i].hold == h {
			l.spans[i].hold = nil
			l.spans[i].fences = left
		}
	}
	l.spans.tidy()
}

// Holds is the number of blocks that jobs hold and have not handed on.
func (l *Ledger) Holds() int { return l.holds }

// Reset forgets all holders, sets and physical memory: the device's context
// has been destroyed. No job holds anything.
func (l *Ledger) Reset() {
	if l.holds > 0 {
		panic("BUG: vram: reset while jobs hold blocks")
	}
	for _, s := range l.sets {
		*s = Set{name: s.name, bytes: s.bytes}
	}
	l.sets = nil
	l.spans = spans{{end: l.bytes}}
	l.chunks = newChunks(l.bytes, l.chunks.size)
}

// Usage is a summary for metrics, in bytes.
type Usage struct {
	Budget uint64
	Held   uint64 // by jobs
	Fenced uint64 // handed on, last use not seen completed
	Sets   uint64 // by parameter sets
	Mapped uint64 // physical memory
}

// Usage sums the ledger up.
func (l *Ledger) Usage() Usage {
	u := Usage{Budget: l.bytes, Mapped: l.chunks.bytes()}
	for i := range l.spans {
		s := &l.spans[i]
		n := s.end - s.off
		switch {
		case s.hold != nil:
			u.Held += n
		case s.set != nil:
			u.Sets += n
		case len(unpassed(s.fences)) > 0:
			u.Fenced += n
		}
	}
	return u
}
