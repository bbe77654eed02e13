package cuda

import (
	"context"

	"github.com/libcuzk/libcuzk/cuda/driver"
	"github.com/libcuzk/libcuzk/cuda/internal/plan"
	"github.com/libcuzk/libcuzk/engine/srs"
	"github.com/libcuzk/libcuzk/internal/launch"
	"github.com/libcuzk/libcuzk/internal/sched"
)

const (
	// tilePlaces is how many tiles lie on the card: one is filled while the
	// other is read.
	tilePlaces = 2

	// tilesAhead is how many tiles' kernels may be enqueued and not have run.
	// At 18 launches each they stay far below the number at which a launch
	// blocks, and last long enough that the card never waits for the host.
	tilesAhead = 4
)

// tileFeed is the points of h on their way through the tiles' places.
type tileFeed struct {
	job    *job
	points []byte        // of the whole section, pinned
	n      uint32        // points, as many as there are coefficients at most
	added  []*sched.Mark // after the kernels of each tile so far
}

// sumTiles enqueues the MSM of the quotient, whose coefficients lie in block A,
// over points that cross the bus meanwhile. The job keeps its compute turn, but
// takes the compute lock for a tile at a time: a tile's kernels are enqueued
// when its copy is, which a mark of the one before orders.
func (j *job) sumTiles(ctx context.Context) error {
	sum, scratch := j.plan.Sums[srs.SectionH], j.scratch(srs.SectionH)
	h := j.block(plan.BlockA).Slice(0, launch.FrBytes<<j.logSize)
	feed := &tileFeed{job: j, points: j.onHost.Sections[srs.SectionH], n: min(j.plan.Count(srs.SectionH), 1<<j.logSize)}
	if feed.n == 0 {
		return j.handOn(plan.BlockA)
	}
	// The points are in natural order, and the coefficients bit-reversed.
	begin := append([]launch.Call{launch.Reverse(h, j.logSize)}, sum.Reset(scratch)...)
	if err := j.launch(ctx, "h: order", begin, plan.BlockA, plan.BlockScratch); err != nil {
		return err
	}
	last := int(feed.n-1) / int(sum.TileN)
	for i := range last {
		if err := feed.tile(ctx, i, func(calls []launch.Call) error {
			return j.launch(ctx, "h: tile", calls, plan.BlockA, plan.BlockScratch, plan.BlockTiles)
		}); err != nil {
			return err
		}
	}
	return feed.tile(ctx, last, func(calls []launch.Call) error {
		calls = append(calls, sum.Reduce(scratch, j.resultOf(srs.SectionH, sum, sum.ResultBytes()))...)
		// The coefficients are free once the last tile has been sorted.
		sorted := lastTouch(calls, h) + 1
		if err := j.launch(ctx, "h: tile", calls[:sorted], plan.BlockA, plan.BlockScratch, plan.BlockTiles); err != nil {
			return err
		}
		if err := j.handOn(plan.BlockA); err != nil {
			return err
		}
		return j.launch(ctx, "h: rest", calls[sorted:], plan.BlockWitness, plan.BlockScratch, plan.BlockTiles)
	})
}

// tile copies tile i and gives its kernels to add, which enqueues them.
func (f *tileFeed) tile(ctx context.Context, i int, add func([]launch.Call) error) error {
	j, sum := f.job, f.job.plan.Sums[srs.SectionH]
	if i >= tilesAhead {
		if err := j.ticket.Await(ctx, f.added[i-tilesAhead]); err != nil {
			return err
		}
	}
	if i >= tilePlaces {
		// The place is free when the kernels of the tile that was there have run.
		if err := j.ticket.Order(sched.Tiles, f.added[i-tilePlaces]); err != nil {
			return err
		}
	}
	first := uint32(i) * sum.TileN
	n := min(sum.TileN, f.n-first)
	bytes := uint64(n) * launch.G1.AffineBytes()
	place := j.block(plan.BlockTiles).Slice(uint64(i%tilePlaces)*j.plan.TileBytes(), bytes)
	from := f.points[uint64(first)*launch.G1.AffineBytes():][:bytes]
	err := j.lane(ctx, sched.Tiles).Enqueue(func(b *driver.Bound, s driver.Stream) error {
		return b.CopyToDevice(driver.DevicePtr(place.Addr), from, s)
	}, plan.BlockTiles)
	if err != nil {
		return err
	}
	copied, err := j.ticket.Record(sched.Tiles)
	if err != nil {
		return err
	}
	if err := j.ticket.Order(sched.Compute, copied); err != nil {
		return err
	}
	err = add(sum.Tile(launch.TileInput{
		N:       n,
		Scalars: j.block(plan.BlockA).Slice(uint64(first)*launch.FrBytes, uint64(n)*launch.FrBytes),
		Points:  place,
		Scratch: j.scratch(srs.SectionH),
	}))
	if err != nil {
		return err
	}
	added, err := j.ticket.Record(sched.Compute)
	f.added = append(f.added, added)
	return err
}

// sumGathered is the sum over n points of the list, whose points are copied to
// the card first.
func (j *job) sumGathered(of srs.Section, scalars, positions launch.Range, n uint32) []launch.Call {
	g, sum, scratch := plan.GroupOf(of), j.plan.Sums[of], j.scratch(of)
	points := scratch.Slice(0, uint64(n)*g.AffineBytes())
	rest := scratch.Slice(j.plan.GatheredBytes(of), sum.ScratchBytes())
	calls := append([]launch.Call{launch.Gather(g, j.points(of), positions, points, n)}, sum.Reset(rest)...)
	calls = append(calls, sum.Tile(launch.TileInput{N: n, Scalars: scalars, Points: points, Scratch: rest})...)
	return append(calls, sum.Reduce(rest, j.resultOf(of, sum, sum.ResultBytes()))...)
}
