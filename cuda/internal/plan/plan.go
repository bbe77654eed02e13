package plan

import (
	"errors"
	"fmt"
	"math"

	"github.com/libcuzk/libcuzk/engine/srs"
	"github.com/libcuzk/libcuzk/internal/launch"
	"github.com/libcuzk/libcuzk/internal/vram"
)

// Plan is how a job of a shape is run within a budget, in one tier.
type Plan struct {
	Shape
	Capacity uint32                    // aux entries of the dense list
	Scratch  [len(AllSections)]Scratch // by section: what runs at a time has its own
	Streams  bool                      // the set's points cross the bus behind the kernels
	Launches int                       // of a resident job, at most: one round, h included

	// Of a job that streams: by section, the sum over h's tiles, and over the
	// points of the list, which are one tile.
	Sums [len(AllSections)]launch.TiledMSM
}

// Scratch is the working memory of a section's kernels.
type Scratch struct{ Offset, Bytes uint64 }

// Limits are what a provider's options say about plans; 0 lets the budget decide.
type Limits struct {
	ListScalars int    // witness values other than 0 and 1 on the device at a time
	TilePoints  uint32 // points of h in a tile, where a set is streamed
}

// Plans are those of a shape's jobs; nil where a tier does not fit.
type Plans struct{ Resident, Streaming *Plan }

// MaxEnqueued is how many jobs may have kernels on the device: one that runs
// and one that follows it without a gap. Where memory is ample that is about
// 120 launches each; a job of so many that two could pass maxLaunches is alone.
const MaxEnqueued = 2

const (
	// planAttempts bounds how often a plan is halved to fit: to 1/2048.
	planAttempts = 12

	// listShare of the aux variables, 1/8, have room in the list at first, and
	// minFirstList of them if that is more. In a PoRep 1.6 % are dense; a circuit
	// with more goes in rounds.
	listShare    = 8
	minFirstList = 1 << 20

	// The first list of a job that streams is 2^3 times what is taken to be
	// dense, and the least 2^-4 times: rounds cost it more, since they wait for
	// the sum over h.
	streamedListShift = 3
	minListShift      = 4

	// MaxLaunches is how many launches may be outstanding; another blocks, which
	// it would do while it holds the compute lock (measured on an H200, driver 580).
	MaxLaunches = 1023
	// otherLaunches of a job are not those of MSMs: ranks (12), the quotient (27 for
	// 2^28), sums over ones (12), and what is left for more.
	otherLaunches = 60

	// minList is the least list that is worth a round.
	minList = 1024

	// tileShare of h's points, 1/8, make a tile at first: the copy of one is
	// hidden behind the sum over another. maxTile is what a launch can sort. A
	// tile below minTile leaves most of a device idle, and so do thousands.
	tileShare = 8
	maxTile   = 1 << 24
	minTile   = 1 << 14
	maxTiles  = 1 << 10
)

// Costs of a streaming job beside those of the sum over h, in products of the
// base field, of which a device does 26 in a nanosecond (an H200). Estimates: of
// the gaps between a tile's 6 to 18 launches, 0.2 ms; of the small sums of a
// further round 5 ms, and of reading the witness again 1.2 ns a variable.
const (
	tileCost     = 5 << 20
	roundCost    = 125 << 20
	roundVarCost = 32
	// denseShare of the aux variables, 1/60, are taken to be dense: 1.6 % in a
	// PoRep.
	denseShare = 60
)

// New plans both tiers within what check lets pass. If neither fits, the
// error says what the smallest job of all is missing.
func New(s Shape, set *vram.Set, limits Limits, check func(vram.Need) error) (Plans, error) {
	resident, noResident := planResident(s, set, limits, check)
	streaming, noStreaming := planStreaming(s, set, limits, check)
	if resident != nil && streaming != nil && resident.Launches > MaxLaunches {
		resident = nil
	}
	all := Plans{resident, streaming}
	if resident != nil || streaming != nil {
		return all, nil
	}
	return all, fewerBytes(noResident, noStreaming)
}

// fewerBytes is the error of two that asks for less memory; b is nil if there is
// no plan to ask for.
func fewerBytes(a, b error) error {
	if b == nil {
		return a
	}
	var x, y *vram.TooLargeError
	if errors.As(a, &x) && (!errors.As(b, &y) || x.NeedBytes < y.NeedBytes) {
		return a
	}
	return b
}

// Need is what a partition claims, in whichever of its tiers the ledger chooses.
func (p Plans) Need(set *vram.Set) vram.Need {
	n := vram.Need{Set: set}
	if p.Resident != nil {
		n.Resident = p.Resident.requests()
	}
	if p.Streaming != nil {
		n.Streaming = p.Streaming.requests()
	}
	return n
}

// planResident chooses the largest list and scratch with which the job fits
// beside its set and the inputs of the next job, which are staged while it
// computes; rows need no room twice, because they are handed on early. If that
// is too much it does without the next job. If the job alone does not fit, the
// error of the smallest plan says what is missing.
func planResident(s Shape, set *vram.Set, limits Limits, check func(vram.Need) error) (*Plan, error) {
	var failed error
	for _, jobs := range []int{2, 1} {
		for attempt := range planAttempts {
			p := Plan{Shape: s, Capacity: s.listFor(attempt, limits)}
			if err := p.divideScratch(attempt); err != nil {
				if failed == nil {
					failed = err
				}
				break
			}
			if failed = check(vram.Need{Resident: p.requestsOf(jobs), Set: set}); failed == nil {
				return &p, nil
			}
		}
	}
	return nil, failed
}

// planStreaming chooses, of all lists and tiles with which the job fits beside
// the inputs of the next one, those that cost least; if none do, without the
// next job. The error is as planResident's.
func planStreaming(s Shape, set *vram.Set, limits Limits, check func(vram.Need) error) (*Plan, error) {
	var failed error
	for _, jobs := range []int{2, 1} {
		var best *Plan
		for _, candidate := range streamingPlans(s, limits) {
			p, err := candidate.fitting(func(p *Plan) error {
				return check(vram.Need{Streaming: p.requestsOf(jobs), Set: set})
			})
			switch {
			case err != nil:
				failed = err
			case best == nil || p.cost() < best.cost():
				best = p
			}
		}
		if best != nil {
			return best, nil
		}
	}
	return nil, failed
}

// streamingPlans are lists and tiles to choose from, the smallest last, without
// the scratch of h. None if the inputs alone, which lie in the list, are more
// than the one tile that a list is.
func streamingPlans(s Shape, limits Limits) []Plan {
	if s.Inputs >= maxTile {
		return nil
	}
	var all []Plan
	for attempt := range planAttempts {
		p := Plan{Shape: s, Capacity: s.streamedListFor(attempt, limits), Streams: true}
		if p.divideForLists(attempt) != nil {
			break
		}
		h := &p.Sums[srs.SectionH]
		for tile := range uint32(planAttempts) {
			size := s.tileFor(tile, limits)
			if tile > 0 && size == h.TileN {
				break
			}
			h.TileN = size
			all = append(all, p)
		}
	}
	return all
}

// fitting is p with the cheapest sum over h that check lets pass. The error is
// that of the sum with the least scratch.
func (p Plan) fitting(check func(*Plan) error) (*Plan, error) {
	h := &p.Sums[srs.SectionH]
	all, err := launch.TiledMSMs(max(p.Count(srs.SectionH), 1), h.TileN, launch.G1)
	if err != nil {
		return nil, fmt.Errorf("cuda: scratch of section %s: %w", srs.SectionH, err)
	}
	tooMuch := uint64(math.MaxUint64)
	for _, sum := range all {
		bytes := max(sum.ScratchBytes(), p.rankBytes())
		if bytes >= tooMuch {
			continue
		}
		*h, p.Scratch[srs.SectionH].Bytes = sum, bytes
		if err = check(&p); err == nil {
			return &p, nil
		}
		tooMuch = bytes
	}
	return nil, err
}

// cost is what a streaming job costs that depends on the plan, in products.
func (p *Plan) cost() uint64 {
	h := p.Sums[srs.SectionH]
	rounds := uint64(max(p.Aux/denseShare, 1)-1) / uint64(max(p.Capacity, 1))
	return h.Cost + uint64(h.Tiles())*tileCost + rounds*(roundCost+uint64(p.Aux)*roundVarCost)
}

// listFor is the list's capacity, halved shift times.
func (s Shape) listFor(shift int, limits Limits) uint32 {
	if limits.ListScalars > 0 {
		return min(s.Aux, uint32(limits.ListScalars))
	}
	return min(s.Aux, max(max(s.Aux/listShare, minFirstList)>>shift, minList))
}

// streamedListFor is listFor for a job that streams: one of them holds just
// what is taken to be dense.
func (s Shape) streamedListFor(shift int, limits Limits) uint32 {
	if limits.ListScalars > 0 {
		return s.listFor(shift, limits)
	}
	dense := (s.Aux + denseShare - 1) / denseShare
	most := max(dense<<streamedListShift, minFirstList)
	return min(s.Aux, max(most>>shift, dense>>minListShift, minList), maxTile-s.Inputs)
}

// tileFor is the points of a tile of h, halved shift times.
func (s Shape) tileFor(shift uint32, limits Limits) uint32 {
	m := uint32(1) << s.LogSize
	if limits.TilePoints > 0 {
		return min(m, limits.TilePoints)
	}
	return min(m, max(min(m/tileShare, maxTile)>>shift, m/maxTiles, minTile))
}

// maxScalars is the largest MSM over a section: of the coefficients of h, or
// of the list.
func (p Plan) maxScalars(of srs.Section) uint32 {
	if of == srs.SectionH {
		return 1 << p.LogSize
	}
	return p.Inputs + p.Capacity
}

// divideScratch gives every section what its MSM needs to work on all windows
// at a time, divided by 2^shift, and no less than its other kernels need; and
// counts the launches that this makes.
func (p *Plan) divideScratch(shift int) error {
	parts := packing{}
	p.Launches = otherLaunches
	for _, of := range append(Branches[:len(Branches):len(Branches)], srs.SectionH) {
		full, err := planMSM(of, p.maxScalars(of), math.MaxInt64)
		if err != nil {
			return fmt.Errorf("cuda: scratch: %w", err)
		}
		part := parts.take(max(full.ScratchBytes()>>shift, launch.OnesScratchBytes(GroupOf(of)), p.rankBytes()))
		p.Scratch[of] = Scratch{part.Addr, part.Bytes}
		m, err := p.MSM(of, p.maxScalars(of))
		if err != nil {
			return err
		}
		p.Launches += m.Launches()
	}
	return nil
}

// divideForLists is divideScratch for the lists of a job that streams. Their
// points are gathered from host memory first, since a sum reads them once a
// window, and all windows are worked on at a time whatever the scratch. The
// sections come one after the other, since they wait for the bus, and share a
// part. h gets its own from fitting.
func (p *Plan) divideForLists(shift int) error {
	var shared uint64
	for _, of := range Branches {
		all, err := launch.TiledMSMs(p.maxScalars(of), p.maxScalars(of), GroupOf(of))
		if err != nil {
			return fmt.Errorf("cuda: scratch of section %s: %w", of, err)
		}
		sum, most := all[0], all[0].ScratchBytes()>>shift
		for _, next := range all {
			if sum.ScratchBytes() <= most {
				break
			}
			if next.ScratchBytes() < sum.ScratchBytes() {
				sum = next
			}
		}
		p.Sums[of] = sum
		p.Scratch[of].Bytes = max(p.GatheredBytes(of)+sum.ScratchBytes(), launch.OnesScratchBytes(GroupOf(of)))
		shared = max(shared, p.Scratch[of].Bytes)
	}
	var parts packing
	parts.take(shared)
	p.Scratch[srs.SectionH] = Scratch{Offset: parts.used}
	return nil
}

// GatheredBytes is the room for the list's points of a section.
func (p Plan) GatheredBytes(of srs.Section) uint64 {
	var parts packing
	parts.take(uint64(p.maxScalars(of)) * GroupOf(of).AffineBytes())
	return parts.used
}

// rankBytes is what the ranks need, which are computed in the scratch of h
// before anything else.
func (p Plan) rankBytes() uint64 {
	return max(launch.RankScratchBytes(p.Aux), launch.RankScratchBytes(p.Inputs))
}

// MSM plans an MSM of n scalars over a section, within its scratch.
func (p Plan) MSM(of srs.Section, n uint32) (launch.MSM, error) {
	m, err := planMSM(of, n, p.Scratch[of].Bytes)
	if err != nil {
		return m, fmt.Errorf("cuda: scratch of section %s: %w", of, err)
	}
	return m, nil
}

// planMSM plans an MSM over a section: that of h has the device for itself, the
// others run beside the quotient.
func planMSM(of srs.Section, n uint32, scratchLimit uint64) (launch.MSM, error) {
	if of == srs.SectionH {
		return launch.PlanAffineMSM(n, scratchLimit)
	}
	return launch.PlanMSM(n, scratchLimit, GroupOf(of))
}

// Tokens of device.enqueued are what a job takes: all of them if its launches,
// that many times, could block.
func (p *Plan) Tokens() int {
	if MaxEnqueued*p.Launches > MaxLaunches {
		return MaxEnqueued
	}
	return 1
}

// RoundsAhead is how many rounds of a job may be on the device at a time: what one
// token allows, and at least one.
func (p *Plan) RoundsAhead() int {
	return min(MaxEnqueued, max(1, MaxLaunches/MaxEnqueued/max(p.Launches, 1)))
}

// scratchBytes is the size of the scratch block.
func (p Plan) scratchBytes() uint64 {
	last := p.Scratch[srs.SectionH]
	return last.Offset + last.Bytes
}

// TileBytes is the size of one of the two places for points of h.
func (p Plan) TileBytes() uint64 { return uint64(p.Sums[srs.SectionH].TileN) * launch.G1.AffineBytes() }

// When blocks are handed on, the earliest first: vram.Request.Late.
const (
	afterProduct     = iota // the rows of b
	afterSubtraction        // of c
	afterSort               // h, which lies where a's were, once its last windows are sorted
	atEnd
)

// requests is what a job claims. For a domain of m, i inputs, x aux variables of
// which `list` fit the dense list, in bytes, each part rounded up to 256:
//
//	a, b, c   32 m each                                a row is a scalar
//	witness   4 ceil(x / 32)                           bitmap of the ones
//	          36 list + 32 i                           values and indices
//	          4 * 4 (i + list)                         positions in l, a, b of G1 and G2
//	          3 of 4 (ceil(n / 32) + ceil(n / 1024) + 1)  densities and ranks; n = x, x, i
//	          maxResultBytes                           results
//	scratch   for each of the five sums the larger of
//	          MSM.ScratchBytes / 2^shift               at least a window of the least plan
//	          2112 points                              OnesScratchBytes
//	          4 ceil(x / 1024), and its scan           RankScratchBytes
//	          but in a job that streams
//	          TiledMSM.ScratchBytes                    all buckets, and one tile's pairs
//	          96 (192 in G2) (i + list)                the list's points; l, a and b share the
//	                                                   largest of theirs
//	tiles     2 * 96 tile                              of a job that streams: one is filled while
//	                                                   the other is read
//
// Sources: the layouts that the kernels' argument structs name, sized by package
// launch. The parameter set beside a job that does not stream is
// 96 (m + |l| + |a| + |b|) + 192 |b|.
func (p Plan) requests() []vram.Request {
	rows := launch.FrBytes << p.LogSize
	all := []vram.Request{
		BlockA:       {Bytes: uint64(rows), Late: afterSort},
		BlockB:       {Bytes: uint64(rows), Late: afterProduct},
		BlockC:       {Bytes: uint64(rows), Late: afterSubtraction},
		BlockWitness: {Bytes: p.Layout(0, p.Capacity).bytes, Exact: true, Late: atEnd},
		BlockScratch: {Bytes: p.scratchBytes(), Exact: true, Late: atEnd},
	}
	if p.Streams {
		all = append(all, vram.Request{Bytes: 2 * p.TileBytes(), Exact: true, Late: atEnd})
	}
	return all
}

// requestsOf are the blocks of a job and the witness blocks of those that
// overlap with it, which claim all else behind it.
func (p Plan) requestsOf(jobs int) []vram.Request {
	all := p.requests()
	for range jobs - 1 {
		all = append(all, all[BlockWitness])
	}
	return all
}
