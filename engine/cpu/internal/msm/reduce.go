package msm

import (
	"context"

	"github.com/libcuzk/libcuzk/engine/cpu/internal/curve"
)

// unset marks a running sum that nothing has been added to yet.
const unset curve.Ref = 0xffffffff

// segment is a stretch of consecutive buckets of one window. With buckets
// B_0 .. B_{len-1} from first, run becomes Σ B_j and total Σ (j+1)·B_j.
type segment struct {
	first      uint32 // state of B_0
	run, total curve.Ref
	slot       curve.Ref // two slots for run, used in turn, and one for total
}

// reduce sets out[w] = Σ (b+1)·bucket_b of window w. The states of the windows
// follow one another in the arena.
//
// The windows are cut into segments whose running sums advance together, one
// batch of additions for each bucket of a segment. What is left is a running
// sum over the segments of a window: with segments of length len,
//
//	Σ_b (b+1)·B_b = Σ_k total_k + len·Σ_k k·run_k
func reduce[A, P, J any, PJ Jacobian[A, J]](ctx context.Context, ws *workspace[A, P], buckets int, out []J) error {
	length := segmentLength(buckets * len(out))
	length = min(length, buckets)
	per := buckets / length
	segments := make([]segment, per*len(out))
	for i := range segments {
		segments[i] = segment{first: uint32(i * length), run: unset, total: unset, slot: curve.Ref(ws.slots + 3*i)}
	}
	for j := length - 1; j >= -1; j-- {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		ws.advance(segments, j)
	}
	for w := range out {
		combine[A, P, J, PJ](ws, segments[w*per:(w+1)*per], length, &out[w])
	}
	return nil
}

// segmentLength balances what a step costs beside its additions, an inversion
// for the batch, against what a segment costs in the end, three additions of
// single points, measured in those of the batch. All are powers of two, and
// the slots must do.
func segmentLength(states int) int {
	const stepCost, segmentCost = 100, 30
	length := 1
	for length*length*stepCost < states*segmentCost || 3*(states/length) > slotCount {
		length *= 2
	}
	return length
}

// advance adds each segment's run to its total, and bucket j to its run: the
// total always lags one bucket behind, so that both additions of a segment are
// in one batch and neither needs the other's result. j = -1 adds no bucket.
func (ws *workspace[A, P]) advance(segments []segment, j int) {
	pairs := ws.pairs[:0]
	for i := range segments {
		g := &segments[i]
		run := g.run
		if state := int(g.first) + j; j >= 0 && ws.filled[state] {
			if run == unset {
				g.run = curve.Ref(state)
			} else {
				g.run = g.slot
				if run == g.slot {
					g.run++
				}
				pairs = append(pairs, curve.Pair{A: run, B: curve.Ref(state), Dst: g.run})
			}
		}
		switch total := g.slot + 2; {
		case run == unset:
		case g.total == unset:
			ws.adder.Move(ws.arena, total, run)
			g.total = total
		default:
			pairs = append(pairs, curve.Pair{A: g.total, B: run, Dst: total})
		}
	}
	ws.pairs = pairs
	if len(pairs) > 0 {
		ws.adder.Add(ws.arena, pairs)
	}
}

// combine sets out to the sum of a window from those of its segments.
func combine[A, P, J any, PJ Jacobian[A, J]](ws *workspace[A, P], segments []segment, length int, out *J) {
	var totals, runs, weighted J
	for k := len(segments) - 1; k >= 0; k-- {
		if g := &segments[k]; g.run != unset {
			run, total := ws.adder.Store(&ws.arena[g.run]), ws.adder.Store(&ws.arena[g.total])
			PJ(&runs).AddMixed(&run)
			PJ(&totals).AddMixed(&total)
		}
		if k > 0 {
			PJ(&weighted).AddAssign(&runs)
		}
	}
	for ; length > 1; length /= 2 {
		PJ(&weighted).DoubleAssign()
	}
	PJ(&totals).AddAssign(&weighted)
	*out = totals
}
