package launch

import (
	"cmp"
	"fmt"
	"slices"

	bls "github.com/consensys/gnark-crypto/ecc/bls12-381"
)

// tileBucketCost is what a bucket costs for each tile, in products. Its sum of 192
// bytes is read and written, which takes as long as 2.5 products where memory
// moves 4.3 TB/s and products are 27.5 G/s (an H200), and its pairs are counted.
const tileBucketCost = 4

// Longer runs have fewer heads, and so need less memory, but are fewer threads:
// each doubling, of maxLonger at the most, counts as 1/longerCost of the cost.
const maxLonger, longerCost = 5, 16

// maxTileN is the largest tile whose pairs have 32-bit indices with windows of 4
// bits.
const maxTileN = 1 << 24

// TiledMSM is the plan of sum_i [s_i] P_i whose points come in tiles: the
// buckets of all windows live in the scratch from Reset to Reduce, and each
// tile's pairs are sorted and added to them. The result is the same however
// the points are split into tiles.
type TiledMSM struct {
	N     uint32 // points in all, for which the window is chosen
	TileN uint32 // points of the largest tile
	Group Group
	Cost  uint64 // in products, by the formula of TiledMSMs

	tile MSM // of the largest tile, with all windows at a time
}

// TiledMSMs are the plans for n points in tiles of up to `tile`, the cheapest
// first: for every window size c, runs 2^k times as long as they would be in
// ample memory. A plan costs
//
//	ceil(256 / c) (10 n + (34 + 4 ceil(n / tile)) 2^(c-1)) (1 + k / 16)
//
// products. Its scratch is, with W = ceil(256 / c) windows and points of G1,
// about
//
//	192 W 2^(c-1)    buckets
//	  8 W 2^(c-1)    their counts and offsets
//	 12 W tile       pairs, sorted in two steps; 4 W tile below 2^19 points
//	192 W tile / run parts of buckets, at the same place as the last 8 of the 12
func TiledMSMs(n, tile uint32, g Group) ([]TiledMSM, error) {
	p := TiledMSM{N: n, TileN: min(tile, n), Group: g}
	if p.TileN == 0 || p.TileN > maxTileN {
		return nil, fmt.Errorf("launch: an MSM of %d points in tiles of %d: want 1 to %d a tile", n, tile, maxTileN)
	}
	var all []TiledMSM
	for c := uint32(minWindow); c <= maxWindow; c++ {
		for longer := range uint32(maxLonger + 1) {
			candidate := p.with(c, longer)
			candidate.Cost = candidate.cost(longer)
			all = append(all, candidate)
		}
	}
	slices.SortStableFunc(all, func(a, b TiledMSM) int { return cmp.Compare(a.Cost, b.Cost) })
	return all, nil
}

// with is the plan for windows of c bits, and runs 2^longer times as long as in
// ample memory.
func (p TiledMSM) with(c, longer uint32) TiledMSM {
	windows := windowsOf(c)
	p.tile = MSM{N: p.TileN, Groups: []Group{p.Group}, tiled: true}.shape(c, windows, windows)
	p.tile.run = min(p.tile.run<<longer, max(p.tile.run, maxRun))
	p.tile.merge = mergeRun(p.tile.runs())
	return p
}

// Tiles is the number of tiles.
func (p TiledMSM) Tiles() uint32 { return blocks(uint64(p.N), uint64(p.TileN)) }

func (p TiledMSM) cost(longer uint32) uint64 {
	perBucket := bucketCost + tileBucketCost*uint64(p.Tiles())
	cost := uint64(p.tile.Windows) * (pairCost*uint64(p.N) + perBucket*uint64(p.tile.perWindow()))
	return cost + cost*uint64(longer)/longerCost
}

// Window is the number of bits of a window.
func (p TiledMSM) Window() uint32 { return p.tile.Window }

// Windows is the number of windows: ceil(256 / Window).
func (p TiledMSM) Windows() uint32 { return p.tile.Windows }

// ScratchBytes is the scratch that the calls use. From Reset to Reduce nothing
// else may write there.
func (p TiledMSM) ScratchBytes() uint64 { return p.scratch(anywhere).end }

// ResultBytes is the size of the result: a sum for each window.
func (p TiledMSM) ResultBytes() uint64 { return p.tile.ResultBytes(p.Group) }

// scratch has the buckets, which stay, first. A tile's sort and sums, and later the
// reduction, use the memory behind them.
func (p TiledMSM) scratch(whole Range) msmScratch {
	t := p.tile
	l := Layout{Whole: whole}
	n, point := t.buckets(), p.Group.SumBytes()
	heads := [2]uint64{uint64(t.runs()), uint64(blocks(uint64(t.runs()), uint64(t.merge)))}
	var s msmScratch
	s.buckets = l.Take(n * point)
	reduction := l
	s.bandCounts = l.Take(uint64(t.bands()) * WordBytes)
	s.counts = l.Take(n * WordBytes)
	s.offsets = l.Take((n + 1) * WordBytes)
	s.starts = l.Take((uint64(t.bands()) + 1) * WordBytes)
	s.scanSums = l.Take(scanSumsBytes(uint32(n)))
	s.sorted = l.Take(t.pairs() * WordBytes)
	entries := l
	for i := range heads {
		s.heads[i] = l.Take(heads[i] * point)
		s.headBuckets[i] = l.Take(heads[i] * WordBytes)
	}
	if t.bandLog > 0 {
		s.entries = entries.Take(t.pairs() * entryBytes)
	}
	s.runSums = reduction.Take(t.bucketRuns() * point)
	s.blockSums = reduction.Take(uint64(t.Batch) * sumBlocks * point)
	s.end = max(l.Used, entries.Used, reduction.Used)
	return s
}

// Reset sets all buckets to infinity: before the first tile.
func (p TiledMSM) Reset(scratch Range) []Call {
	buckets := p.scratch(scratch).buckets
	return []Call{Fill(buckets, uint32(buckets.Bytes/WordBytes), 0)}
}

// TileInput is one tile of a TiledMSM.
type TileInput struct {
	N       uint32 // 1 to TileN
	Scalars Range  // N scalars, Montgomery form
	Points  Range  // their points, affine, at the same positions
	Scratch Range  // that of Reset
}

// Tile adds a tile to the buckets: 6 to 18 calls, whatever the data. The calls that
// sort come first and read the scalars, which no later call does. Only the calls
// behind them, the accumulation, read the points.
func (p TiledMSM) Tile(in TileInput) []Call {
	if in.N == 0 || in.N > p.TileN {
		panic(fmt.Sprintf("BUG: launch: a tile of %d points, planned for 1 to %d", in.N, p.TileN))
	}
	t, s := p.tile, p.scratch(in.Scratch)
	t.N = in.N
	points := in.Points.Slice(0, uint64(in.N)*p.Group.AffineBytes())
	calls := t.sort(MSMInput{Scalars: in.Scalars}, s, 0)
	return append(calls, t.accumulate(p.Group, points, s)...)
}

// Reduce turns the buckets into the result, after the last tile.
func (p TiledMSM) Reduce(scratch, result Range) []Call {
	return p.tile.reduce(p.Group, p.scratch(scratch), result)
}

// ResultG1 is the value of an MSM of G1 from its result bytes.
func (p TiledMSM) ResultG1(data []byte) bls.G1Jac { return p.tile.ResultG1(data) }

// ResultG2 is ResultG1 for G2.
func (p TiledMSM) ResultG2(data []byte) bls.G2Jac { return p.tile.ResultG2(data) }

// InBands is the plan with a sort in two steps, whatever the tile's size. It needs
// other scratch.
func (p TiledMSM) InBands() TiledMSM {
	p.tile = p.tile.InBands()
	return p
}
