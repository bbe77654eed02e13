package vram

import (
	"cmp"
	"math"
	"slices"
)

// span is a stretch of the address range in one state: held by a job, taken
// by a parameter set, or free behind the fences of its earlier holders.
type span struct {
	off, end uint64
	hold     *Hold
	set      *Set
	fences   []*Fence // if free: not passed when last looked at
}

// cost ranks what may be claimed by how soon it can be used: idle, then what
// has been handed on by the order in which its last use was recorded, then
// what its holder, in its compute turn, will hand on.
type cost uint64

const (
	idle    cost = 0
	fenced  cost = math.MaxUint64 - math.MaxUint8 - 2 // the limit for what has been handed on
	behind  cost = math.MaxUint64 - 1                 // the limit for what will be
	refused cost = math.MaxUint64                     // held, taken or poisoned
)

func (s *span) cost() cost {
	if s.set != nil {
		return refused
	}
	if s.hold != nil {
		if s.hold.yielding {
			return s.hold.fence.open()
		}
		return refused
	}
	c := idle
	for _, f := range s.fences {
		switch {
		case f.Poisoned():
			return refused
		case !f.Recorded():
			c = max(c, f.open())
		default:
			for _, m := range f.Pending() {
				c = max(c, cost(m.Seq))
			}
		}
	}
	return c
}

// open is the cost of a block behind f, which is not recorded yet.
func (f *Fence) open() cost { return fenced + 1 + cost(f.late) }

// before are the fences that whoever claims s has to respect. A holder that
// has not handed on passes its own predecessors' along: it may never touch
// the block, and then its fence says nothing about theirs.
func (s *span) before() []*Fence {
	if s.hold != nil {
		return append([]*Fence{s.hold.fence}, s.hold.before...)
	}
	return s.fences
}

// spans covers an address range from 0 without gaps, in order.
type spans []span

// lowest is the lowest multiple of align where bytes fit on spans that cost
// at most limit.
func (ss spans) lowest(bytes, align uint64, limit cost) (uint64, bool) {
	for i := 0; i < len(ss); i++ {
		if ss[i].cost() > limit {
			continue
		}
		start := ss[i].off
		for i+1 < len(ss) && ss[i+1].cost() <= limit {
			i++
		}
		if off := roundUp(start, align); off+bytes <= ss[i].end && off >= start {
			return off, true
		}
	}
	return 0, false
}

// highest is the highest multiple of align where bytes fit on spans that cost
// at most limit.
func (ss spans) highest(bytes, align uint64, limit cost) (uint64, bool) {
	for i := len(ss) - 1; i >= 0; i-- {
		if ss[i].cost() > limit {
			continue
		}
		end := ss[i].end
		for i > 0 && ss[i-1].cost() <= limit {
			i--
		}
		if end-ss[i].off < bytes {
			continue
		}
		if off := roundDown(end-bytes, align); off >= ss[i].off {
			return off, true
		}
	}
	return 0, false
}

// put replaces [s.off, s.end) by s and returns the fences that lay on it,
// each once, without those that have passed.
func (ss *spans) put(s span) []*Fence {
	i := ss.split(s.off)
	j := ss.split(s.end)
	var before []*Fence
	for k := i; k < j; k++ {
		before = append(before, (*ss)[k].before()...)
	}
	*ss = slices.Replace(*ss, i, j, s)
	return unpassed(before)
}

// split makes off the beginning of a span and returns its index, or len(ss)
// if off is the end of the range.
func (ss *spans) split(off uint64) int {
	i, found := slices.BinarySearchFunc(*ss, off, func(s span, off uint64) int { return cmp.Compare(s.off, off) })
	if found || i == len(*ss) && off == (*ss)[i-1].end {
		return i
	}
	tail := (*ss)[i-1]
	tail.off = off
	(*ss)[i-1].end = off
	*ss = slices.Insert(*ss, i, tail)
	return i
}

// tidy forgets fences that have passed and joins free neighbours that wait
// for the same ones.
func (ss *spans) tidy() {
	out := (*ss)[:0]
	for _, s := range *ss {
		s.fences = unpassed(s.fences)
		if n := len(out); n > 0 && s.free() && out[n-1].free() && slices.Equal(s.fences, out[n-1].fences) {
			out[n-1].end = s.end
			continue
		}
		out = append(out, s)
	}
	clear((*ss)[len(out):])
	*ss = out
}

func (s *span) free() bool { return s.hold == nil && s.set == nil }

// place finds room for all of reqs at once, at the low end, and returns it in
// the order of reqs. Powers of two go first, largest first, so that they
// leave no gaps between them; requests of one size keep their order, so the
// first gets what can be used soonest.
func (ss spans) place(reqs []Request, limit func(spans, Request) (uint64, bool)) ([]Block, bool) {
	order := make([]int, len(reqs))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		if reqs[i].Exact != reqs[j].Exact {
			if reqs[j].Exact {
				return -1
			}
			return 1
		}
		return cmp.Compare(reqs[j].size(), reqs[i].size())
	})
	trial := slices.Clone(ss)
	taken := &Hold{}
	blocks := make([]Block, len(reqs))
	for _, i := range order {
		off, ok := limit(trial, reqs[i])
		if !ok {
			return nil, false
		}
		blocks[i] = Block{off, reqs[i].size()}
		trial.put(span{off: off, end: blocks[i].End(), hold: taken})
	}
	return blocks, true
}

// soonest prefers room that can be used sooner.
func soonest(ss spans, r Request) (uint64, bool) {
	var costs []cost
	for i := range ss {
		if c := ss[i].cost(); c != refused {
			costs = append(costs, c)
		}
	}
	slices.Sort(costs)
	for _, c := range slices.Compact(costs) {
		if off, ok := ss.lowest(r.size(), r.align(), c); ok {
			return off, true
		}
	}
	return 0, false
}

// densest takes the lowest room, however soon it can be used: what fits an
// empty range is then sure to fit once all holders have handed on.
func densest(ss spans, r Request) (uint64, bool) {
	return ss.lowest(r.size(), r.align(), behind)
}

// Peak is how much of an empty budget a job's blocks take, beside a parameter
// set of setBytes (0 for none).
func Peak(reqs []Request, setBytes uint64) uint64 {
	// Far beyond any device, and far from overflow in lowest.
	const unlimited = math.MaxUint64 >> 2
	blocks, ok := spans{{end: unlimited}}.place(reqs, densest)
	if !ok {
		return math.MaxUint64
	}
	var end uint64
	for _, b := range blocks {
		end = max(end, b.End())
	}
	return roundUp(end, Granule) + roundUp(setBytes, Granule)
}
