package msm

import (
	"context"
	"fmt"
	"sync"

	"github.com/libcuzk/libcuzk/engine/cpu/internal/curve"
)

// Sum is one sum on its way: units that may be done in any order, and what
// they have found so far.
type Sum[A, P, J any, PJ Jacobian[A, J]] struct {
	group *Group[A, P, J]
	dense Dense[A]
	ones  Ones[A]
	shape shape

	mu      sync.Mutex
	windows []J // Σ of the windows' bucket sums; guarded by mu
	plain   J   // Σ of the points of ones; guarded by mu
}

// Ones is Σ Points[At[k]], the part of a sum whose scalars are one.
type Ones[A any] struct {
	Points []A
	At     []uint32
}

// Unit is a piece of a Sum. Cost orders units: expensive ones first.
type Unit struct {
	Cost int
	Do   func(ctx context.Context) error
}

// NewSum prepares Σ over dense and ones, and cuts it into units for the given
// number of workers.
func NewSum[A, P, J any, PJ Jacobian[A, J]](g *Group[A, P, J], dense Dense[A], ones Ones[A], workers int) (*Sum[A, P, J, PJ], []Unit) {
	s := &Sum[A, P, J, PJ]{group: g, dense: dense, ones: ones}
	var units []Unit
	if dense.Len > 0 {
		s.shape = shapeFor(dense.Len)
		s.windows = make([]J, s.shape.windows)
		units = s.denseUnits(workers)
	}
	for lo := 0; lo < len(ones.At); lo += onesUnit {
		hi := min(lo+onesUnit, len(ones.At))
		units = append(units, Unit{hi - lo, func(ctx context.Context) error { return s.doOnes(ctx, lo, hi) }})
	}
	return s, units
}

// onesUnit is how many points with scalar one make a unit.
const onesUnit = 1 << 15

// denseUnits cuts the windows among the workers, and then the points too,
// until there are enough units to keep all workers about equally busy. Points
// are cut only for many workers: each cut costs another set of buckets.
func (s *Sum[A, P, J, PJ]) denseUnits(workers int) []Unit {
	const minWindows = 4 // fewer, and loading the tile would weigh on the unit
	parts := min(workers, max(1, s.shape.windows/minWindows))
	ranges := (workers + parts - 1) / parts
	ranges = min(ranges, max(1, s.dense.Len/(4*s.shape.buckets)))

	var units []Unit
	for r := range ranges {
		lo, hi := s.dense.Len*r/ranges, s.dense.Len*(r+1)/ranges
		for p := range parts {
			w0, w1 := s.shape.windows*p/parts, s.shape.windows*(p+1)/parts
			units = append(units, Unit{
				Cost: (w1 - w0) * (hi - lo + 2*s.shape.buckets),
				Do:   func(ctx context.Context) error { return s.doDense(ctx, lo, hi, w0, w1) },
			})
		}
	}
	return units
}

// Total returns the sum once all units are done.
func (s *Sum[A, P, J, PJ]) Total() J {
	s.mu.Lock()
	defer s.mu.Unlock()
	var total J
	for w := len(s.windows) - 1; w >= 0; w-- {
		for range s.shape.c {
			PJ(&total).DoubleAssign()
		}
		PJ(&total).AddAssign(&s.windows[w])
	}
	PJ(&total).AddAssign(&s.plain)
	return total
}

// doDense does windows w0 .. w1-1 of pairs lo .. hi-1: tile after tile, so
// that points are loaded once for all windows, and the buckets of all windows
// stay until the end.
func (s *Sum[A, P, J, PJ]) doDense(ctx context.Context, lo, hi, w0, w1 int) error {
	count := w1 - w0
	tile := min(max(minTile, 2*s.shape.buckets), hi-lo)
	ws, err := s.group.workspace(count*s.shape.buckets, tile)
	if err != nil {
		return fmt.Errorf("msm: %d windows of %d buckets: %w", count, s.shape.buckets, err)
	}
	defer s.group.release(ws)

	for ; lo < hi; lo += tile {
		n := min(tile, hi-lo)
		s.loadTile(ws, lo, n)
		s.tileDigits(ws, lo, n, w0, count)
		if err := s.tileWindows(ctx, ws, n, count); err != nil {
			return err
		}
	}
	found := make([]J, count)
	if err := reduce[A, P, J, PJ](ctx, ws, s.shape.buckets, found); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range found {
		PJ(&s.windows[w0+i]).AddAssign(&found[i])
	}
	return nil
}

func (s *Sum[A, P, J, PJ]) loadTile(ws *workspace[A, P], lo, n int) {
	dst := ws.arena[ws.tile : ws.tile+n]
	if s.dense.At == nil {
		ws.adder.Load(dst, s.dense.Points[lo:lo+n], nil)
		return
	}
	ws.adder.Load(dst, s.dense.Points, s.dense.At[lo:lo+n])
}

// tileDigits fills ws.digits with the digits of n pairs from lo, window after
// window.
func (s *Sum[A, P, J, PJ]) tileDigits(ws *workspace[A, P], lo, n, w0, count int) {
	ws.digits = resize(ws.digits, count*n)
	for i := range n {
		j := lo + i
		if s.dense.ScalarAt != nil {
			j = int(s.dense.ScalarAt[j])
		}
		k := s.shape.addOffset(&s.dense.Scalars[j])
		for w := range count {
			ws.digits[w*n+i] = s.shape.digit(&k, w0+w)
		}
	}
}

// tileWindows sorts the tile's points into the buckets of each window and adds
// them up, several windows at a time where a window has few points.
func (s *Sum[A, P, J, PJ]) tileWindows(ctx context.Context, ws *workspace[A, P], n, count int) error {
	ws.refs, ws.runs = ws.refs[:0], ws.runs[:0]
	for w := range count {
		ws.sortWindow(ws.digits[w*n:(w+1)*n], w*s.shape.buckets, s.shape.buckets)
		if len(ws.refs) < chunkRefs/2 && w < count-1 {
			continue
		}
		if err := context.Cause(ctx); err != nil {
			return err
		}
		ws.sumRuns(ws.runs)
		ws.refs, ws.runs = ws.refs[:0], ws.runs[:0]
	}
	return nil
}

// sortWindow appends to ws.refs and ws.runs the tile's points by bucket, a
// counting sort. The state of a bucket that is filled comes first in its run.
func (ws *workspace[A, P]) sortWindow(digits []int32, state, buckets int) {
	ws.counts = resize(ws.counts, buckets+1)
	counts := ws.counts
	clear(counts)
	for _, d := range digits {
		counts[abs(d)]++
	}
	at := uint32(len(ws.refs))
	for b := 1; b <= buckets; b++ {
		n := counts[b]
		if n == 0 {
			continue
		}
		first := at
		if ws.filled[state+b-1] {
			n++
			ws.refs = append(ws.refs, curve.Ref(state+b-1))
			at++
		}
		ws.filled[state+b-1] = true
		ws.runs = append(ws.runs, run{uint32(state + b - 1), first, n})
		counts[b], at = at, first+n
		ws.refs = resizeKeep(ws.refs, int(at))
	}
	// Signs are random, so they must not decide a branch.
	refs, tile := ws.refs, curve.Ref(ws.tile)
	for i, d := range digits {
		if d == 0 {
			continue
		}
		at := &counts[abs(d)]
		refs[*at] = (tile + curve.Ref(i)) | curve.Ref(d)&curve.Neg
		*at++
	}
}

func abs(d int32) int32 {
	sign := d >> 31
	return (d ^ sign) - sign
}

// resizeKeep is resize that keeps the content.
func resizeKeep[T any](s []T, n int) []T {
	for cap(s) < n {
		s = append(s[:cap(s)], *new(T))
	}
	return s[:n]
}

// onesStates is how many partial sums the points with scalar one go into, so
// that the levels of the trees are all of a good size.
const onesStates = 512

// doOnes adds up the points At[lo:hi].
func (s *Sum[A, P, J, PJ]) doOnes(ctx context.Context, lo, hi int) error {
	states := min(onesStates, hi-lo)
	ws, err := s.group.workspace(states, min(chunkRefs, hi-lo))
	if err != nil {
		return fmt.Errorf("msm: sum of %d points: %w", hi-lo, err)
	}
	defer s.group.release(ws)

	// A chunk has chunkRefs operands, the states among them.
	for tile := min(chunkRefs-states, hi-lo); lo < hi; lo += tile {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		n := min(tile, hi-lo)
		ws.adder.Load(ws.arena[ws.tile:ws.tile+n], s.ones.Points, s.ones.At[lo:lo+n])
		ws.dealTile(n, states)
		ws.sumRuns(ws.runs)
	}
	total := ws.sumStates()
	s.mu.Lock()
	defer s.mu.Unlock()
	PJ(&s.plain).AddMixed(&total)
	return nil
}

// dealTile makes runs that deal the tile's n points out to the states.
func (ws *workspace[A, P]) dealTile(n, states int) {
	ws.refs, ws.runs = ws.refs[:0], ws.runs[:0]
	for state := range min(n, states) {
		first := len(ws.refs)
		if ws.filled[state] {
			ws.refs = append(ws.refs, curve.Ref(state))
		}
		ws.filled[state] = true
		for i := state; i < n; i += states {
			ws.refs = append(ws.refs, curve.Ref(ws.tile+i))
		}
		ws.runs = append(ws.runs, run{uint32(state), uint32(first), uint32(len(ws.refs) - first)})
	}
}

// sumStates adds up all filled states, of which there is at least one.
func (ws *workspace[A, P]) sumStates() A {
	ws.refs = ws.refs[:0]
	for state, filled := range ws.filled {
		if filled {
			ws.refs = append(ws.refs, curve.Ref(state))
		}
	}
	ws.sumRuns([]run{{0, 0, uint32(len(ws.refs))}})
	return ws.adder.Store(&ws.arena[0])
}
