package launch

import (
	"fmt"
	"math/bits"

	"github.com/libcuzk/libcuzk/cuda/driver"
)

// Geometry of the sums over buckets. A thread's additions follow one another,
// about 10 us each, so few pairs get short runs. Many pairs get runs long enough
// that heads, a point for each run, stay a small part.
const (
	minWindow, maxWindow = 4, 22
	minRun, maxRun       = 8, 256
	runThreadsLog        = 18 // log2 of the number of runs from which on runs get longer
	// Runs of heads get longer from 2^mergeThreadsLog runs on. From mergeBlockRuns
	// heads on, one block does all levels that are left.
	minMergeRun, maxMergeRun   = 4, 16
	mergeThreadsLog            = 15
	mergeBlockRuns             = 1024
	minBucketRun, maxBucketRun = 4, 64
	bucketThreadsLog           = 16
	sumBlocks                  = 64 // the largest number of blocks for a segment on the first level of a sum
	maxPairs                   = 1 << 31
	// Products. A bucket costs two full additions of 14 products and its share of
	// the multiple of its run's sum; a pair costs one mixed addition.
	bucketCost, pairCost = 34, 10
)

var (
	kernelAccumulate = [...]*Kernel{
		declare[accumulateArgs]("g1_accumulate", "cuzk_msm_g1_accumulate", 128),
		declare[accumulateArgs]("g2", "cuzk_msm_g2_accumulate", 128),
	}
	kernelMerge = [...]*Kernel{
		declare[mergeArgs]("g1", "cuzk_msm_g1_merge", 128),
		declare[mergeArgs]("g2", "cuzk_msm_g2_merge", 128),
	}
	kernelMergeLevels = [...]*Kernel{
		declare[mergeArgs]("g1", "cuzk_msm_g1_merge_levels", 128),
		declare[mergeArgs]("g2", "cuzk_msm_g2_merge_levels", 128),
	}
	kernelReduce = [...]*Kernel{
		declare[reduceArgs]("g1", "cuzk_msm_g1_reduce", 128),
		declare[reduceArgs]("g2", "cuzk_msm_g2_reduce", 128),
	}
	kernelSum = [...]*Kernel{
		declare[sumArgs]("g1", "cuzk_msm_g1_sum", 128),
		declare[sumArgs]("g2", "cuzk_msm_g2_sum", 64),
	}
)

type accumulateArgs struct {
	points, sorted, offsets, buckets, heads, headBuckets uint64
	bucketsN, run, runs, tiled                           uint32
}

type mergeArgs struct {
	in, inBuckets, buckets, out, outBuckets uint64
	n, run                                  uint32
}

type reduceArgs struct {
	buckets, offsets, out      uint64
	perWindow, run, windows, _ uint32
}

type sumArgs struct {
	in, out uint64
	per, _  uint32
}

// MSM is the plan of sum_i [s_i] P_i for n scalars and one or more point
// arrays with the same scalars and positions. Its number of calls depends on n
// and the scratch limit only, never on the data.
type MSM struct {
	N       uint32
	Window  uint32 // bits of a window, c
	Windows uint32 // ceil(256 / c)
	Batch   uint32 // windows that are summed at a time
	Groups  []Group

	// bandLog is log2 of the number of bands of a window in a sort in two steps, 0
	// for a sort in one.
	bandLog uint32

	run       uint32 // pairs that a thread adds up
	merge     uint32 // heads that a thread merges on the first level
	bucketRun uint32 // buckets that a thread reduces: a power of two, which divides those of a window

	tiled           bool // one tile of a TiledMSM, which goes on from the buckets' sums
	affineAdditions bool // by kernels/msm/affine.cuh
}

// PlanMSM chooses the window size that minimises
//
//	ceil(256 / c) (10 n + 34 * 2^(c-1))
//
// products, and as many windows at a time as fit the scratch limit. If not even
// one window fits, it chooses a smaller one.
func PlanMSM(n uint32, scratchLimit uint64, groups ...Group) (MSM, error) {
	p := MSM{N: n, Groups: groups}
	for window := bestWindow(n); window >= minWindow; window-- {
		windows := windowsOf(window)
		for steps := uint32(1); steps <= windows; steps++ {
			p = p.shape(window, windows, blocks(uint64(windows), uint64(steps)))
			if p.pairs() < maxPairs && p.ScratchBytes() <= scratchLimit {
				return p, nil
			}
		}
	}
	return p, fmt.Errorf("launch: an MSM of %d scalars needs %d bytes of scratch, %d are allowed",
		n, p.ScratchBytes(), scratchLimit)
}

// shape fills in the plan. A last, smaller batch keeps run, merge and bucketRun,
// so that it fits the same scratch.
func (p MSM) shape(window, windows, batch uint32) MSM {
	p.Window, p.Windows, p.Batch = window, windows, batch
	p.run = uint32(min(max(p.pairs()>>runThreadsLog, minRun), maxRun))
	p.merge = mergeRun(p.runs())
	bucketRun := uint32(1) << (max(bits.Len64(p.buckets()), bucketThreadsLog+1) - bucketThreadsLog - 1)
	p.bandLog = 0
	if p.N >= bandsFrom {
		p.bandLog = p.bestBands()
	}
	p.bucketRun = min(max(bucketRun, minBucketRun), maxBucketRun, p.perWindow())
	return p
}

// windowsOf is how many windows of c bits cover a scalar and the carry of its
// signed digits.
func windowsOf(c uint32) uint32 { return blocks(256, uint64(c)) }

func bestWindow(n uint32) uint32 {
	best, bestCost := uint32(minWindow), uint64(1)<<63
	for c := uint32(minWindow); c <= maxWindow; c++ {
		cost := uint64(windowsOf(c)) * (pairCost*uint64(n) + bucketCost<<(c-1))
		if cost < bestCost {
			best, bestCost = c, cost
		}
	}
	return best
}

func (p MSM) perWindow() uint32 { return 1 << (p.Window - 1) }
func (p MSM) buckets() uint64   { return uint64(p.Batch) * uint64(p.perWindow()) }
func (p MSM) pairs() uint64     { return uint64(p.Batch) * uint64(p.N) }

func (p MSM) runs() uint32 { return blocks(p.pairs(), uint64(p.run)) }

// mergeRun is the number of heads that a thread merges, of n.
func mergeRun(n uint32) uint32 { return min(max(n>>mergeThreadsLog, minMergeRun), maxMergeRun) }

func (p MSM) bucketRuns() uint64 { return p.buckets() / uint64(p.bucketRun) }

func (p MSM) sumBytes() uint64 {
	var largest uint64
	for _, g := range p.Groups {
		largest = max(largest, g.SumBytes())
	}
	return largest
}

// ScratchBytes is the scratch memory that the calls use.
func (p MSM) ScratchBytes() uint64 {
	if p.N == 0 {
		return 0
	}
	s := p.scratch(anywhere)
	return s.end
}

// ResultBytes is the size of one group's result: a sum for each window.
func (p MSM) ResultBytes(g Group) uint64 { return uint64(p.Windows) * g.SumBytes() }

// msmScratch says where in scratch the parts lie. The entries of a sort in two
// steps lie where the sums go afterwards.
type msmScratch struct {
	counts, offsets, scanSums, sorted Range
	bandCounts, starts, entries       Range
	buckets, runSums, blockSums       Range
	heads, headBuckets                [2]Range
	nextRun, columns                  Range // of affine additions
	end                               uint64
}

func (p MSM) scratch(whole Range) msmScratch {
	l := Layout{Whole: whole}
	n, point := p.buckets(), p.sumBytes()
	heads := [2]uint64{uint64(p.runs()), uint64(blocks(uint64(p.runs()), uint64(p.merge)))}
	var s msmScratch
	s.bandCounts = l.Take(uint64(p.bands()) * WordBytes)
	s.counts = l.Take(n * WordBytes)
	s.offsets = l.Take((n + 1) * WordBytes)
	s.starts = l.Take((uint64(p.bands()) + 1) * WordBytes)
	s.scanSums = l.Take(scanSumsBytes(uint32(n)))
	s.sorted = l.Take(p.pairs() * WordBytes)
	sums := l
	s.buckets = l.Take(n * point)
	for i := range heads {
		s.heads[i] = l.Take(heads[i] * point)
		s.headBuckets[i] = l.Take(heads[i] * WordBytes)
	}
	s.runSums = l.Take(p.bucketRuns() * point)
	s.blockSums = l.Take(uint64(p.Batch) * sumBlocks * point)
	if p.affineAdditions {
		s.nextRun = l.Take(WordBytes)
		s.columns = l.Take(p.columnBytes())
	}
	if p.bandLog > 0 {
		s.entries = sums.Take(p.pairs() * entryBytes)
	}
	s.end = max(l.Used, sums.Used)
	return s
}

// MSMInput is where an MSM's data lies.
type MSMInput struct {
	Scalars   Range   // N scalars, Montgomery form
	Positions Range   // u32 each: where scalar i's point is, None for nowhere; empty: at i
	Points    []Range // affine points for each group of the plan
	Results   []Range // ResultBytes for each group
	Scratch   Range   // ScratchBytes
}

// Calls compute the sums, in the order in which they are to be enqueued.
func (p MSM) Calls(in MSMInput) []Call {
	var calls []Call
	if p.N == 0 {
		for i, g := range p.Groups {
			calls = append(calls, Fill(in.Results[i], uint32(p.ResultBytes(g)/WordBytes), 0))
		}
		return calls
	}
	s := p.scratch(in.Scratch)
	for first := uint32(0); first < p.Windows; first += p.Batch {
		batch := p
		batch.Batch = min(p.Batch, p.Windows-first)
		calls = append(calls, batch.sort(in, s, first)...)
		for i, g := range p.Groups {
			result := in.Results[i].Slice(uint64(first)*g.SumBytes(), uint64(batch.Batch)*g.SumBytes())
			calls = append(calls, batch.accumulate(g, in.Points[i], s)...)
			calls = append(calls, batch.reduce(g, s, result)...)
		}
	}
	return calls
}

// Launches is the number of Calls.
func (p MSM) Launches() int {
	in := MSMInput{Scalars: anywhere, Positions: anywhere, Scratch: anywhere}
	for range p.Groups {
		in.Points = append(in.Points, anywhere)
		in.Results = append(in.Results, anywhere)
	}
	return len(p.Calls(in))
}

// accumulate fills s.buckets from the sorted pairs.
func (p MSM) accumulate(g Group, points Range, s msmScratch) []Call {
	n, runs := uint32(p.buckets()), p.runs()
	offsets := reads(s.offsets, (uint64(n)+1)*WordBytes)
	buckets := s.buckets.Slice(0, uint64(n)*g.SumBytes())
	heads := func(i int, n uint32, m driver.Access) []driver.Range {
		return []driver.Range{
			s.heads[i].Slice(0, uint64(n)*g.SumBytes()).touched(m),
			s.headBuckets[i].Slice(0, uint64(n)*WordBytes).touched(m),
		}
	}
	tiled, mode := uint32(0), driver.Write
	if p.tiled {
		tiled, mode = 1, driver.ReadWrite
	}
	args := accumulateArgs{
		points: points.Addr, sorted: s.sorted.Addr, offsets: s.offsets.Addr, buckets: s.buckets.Addr,
		heads: s.heads[0].Addr, headBuckets: s.headBuckets[0].Addr, bucketsN: n, run: p.run, runs: runs, tiled: tiled,
	}
	access := append(heads(0, runs, driver.Write), points.touched(driver.Read), reads(s.sorted, p.pairs()*WordBytes), offsets,
		buckets.touched(mode))
	var calls []Call
	if p.affineAdditions {
		calls = p.accumulateAffine(args, s, access)
	} else {
		calls = []Call{call(kernelAccumulate[g], uint64(runs), args, access...)}
	}
	// A single run has no head: every bucket of it starts in it.
	for from, run := 0, p.merge; runs > 1; from, run = 1-from, mergeRun(runs) {
		k, grid, next := kernelMerge[g], uint32(0), uint32(1)
		out := blocks(uint64(runs), uint64(run))
		if runs <= mergeBlockRuns {
			k, grid = kernelMergeLevels[g], 1
		} else {
			grid, next = blocks(uint64(out), uint64(k.Threads)), out
		}
		calls = append(calls, gridCall(k, grid, 1, mergeArgs{
			in: s.heads[from].Addr, inBuckets: s.headBuckets[from].Addr, buckets: s.buckets.Addr,
			out: s.heads[1-from].Addr, outBuckets: s.headBuckets[1-from].Addr, n: runs, run: run,
		}, append(append(heads(from, runs, driver.ReadWrite), heads(1-from, out, driver.ReadWrite)...), buckets.touched(driver.ReadWrite))...))
		runs = next
	}
	return calls
}

// reduce turns buckets into the sum of each window.
func (p MSM) reduce(g Group, s msmScratch, result Range) []Call {
	n, runs := p.buckets(), p.bucketRuns()
	args := reduceArgs{
		buckets: s.buckets.Addr, out: s.runSums.Addr,
		perWindow: p.perWindow(), run: p.bucketRun, windows: p.Batch,
	}
	access := []driver.Range{reads(s.buckets, n*g.SumBytes()), writes(s.runSums, runs*g.SumBytes())}
	if !p.tiled { // offsets tell which buckets are empty in the last tile alone
		args.offsets = s.offsets.Addr
		access = append(access, reads(s.offsets, (n+1)*WordBytes))
	}
	calls := []Call{call(kernelReduce[g], runs, args, access...)}
	return append(calls, sumSegments(g, s.runSums, s.blockSums, result, uint32(runs)/p.Batch, p.Batch)...)
}

// sumSegments adds up `segments` times `per` points: result[y] is the sum of
// points[per y] to points[per (y + 1) - 1]. partial is scratch of sumBlocks points
// for each segment.
func sumSegments(g Group, points, partial, result Range, per, segments uint32) []Call {
	k := kernelSum[g]
	size := g.SumBytes()
	sum := func(from, to Range, per, grid uint32) Call {
		return gridCall(k, grid, segments, sumArgs{in: from.Addr, out: to.Addr, per: per},
			reads(from, uint64(segments)*uint64(per)*size), writes(to, uint64(segments)*uint64(grid)*size))
	}
	grid := min(blocks(uint64(per), uint64(k.Threads)), sumBlocks)
	if grid == 1 {
		return []Call{sum(points, result, per, 1)}
	}
	return []Call{sum(points, partial, per, grid), sum(partial, result, grid, 1)}
}
