package msm

import (
	"github.com/libcuzk/libcuzk/engine/cpu/internal/curve"
	"github.com/libcuzk/libcuzk/internal/hostmem"
)

const (
	// chunkRefs is how many operands are summed in one go: enough to make the
	// inversion of a batch small beside it, few enough for the second cache.
	chunkRefs = 8192

	// minTile is the least number of points converted and sorted at a time.
	minTile = 1 << 14
)

// workspace is what one goroutine needs to do a unit. Its arena holds, from
// the start, the bucket states, the tile and the slots for partial sums.
type workspace[A, P any] struct {
	adder  curve.Adder[A, P]
	buffer *hostmem.Buffer[P]
	arena  []P
	tile   int // index of the first point of the tile
	slots  int // index of the first slot

	filled []bool // of bucket states
	digits []int32
	counts []uint32
	refs   []curve.Ref
	runs   []run
	pairs  []curve.Pair
}

// run is one bucket's part of a chunk: refs[start : start+n] sum up in state.
type run struct{ state, start, n uint32 }

// slotCount is enough for the partial sums of a chunk, and for three points a
// segment in the reduction.
const slotCount = chunkRefs

func (g *Group[A, P, J]) workspace(states, tile int) (*workspace[A, P], error) {
	ws, ok := g.workspaces.Get().(*workspace[A, P])
	if !ok {
		ws = &workspace[A, P]{adder: g.NewAdder()}
	}
	buffer, err := hostmem.Get[P](g.Pool, states+tile+slotCount)
	if err != nil {
		return nil, err
	}
	ws.buffer, ws.arena = buffer, buffer.Data
	ws.tile, ws.slots = states, states+tile
	ws.filled = resize(ws.filled, states)
	clear(ws.filled)
	ws.adder.Begin()
	return ws, nil
}

func (g *Group[A, P, J]) release(ws *workspace[A, P]) {
	ws.buffer.Release()
	ws.arena = nil
	g.workspaces.Put(ws)
}

// resize returns a slice of n elements, s itself where it is large enough.
// The content is undefined.
func resize[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// sumRuns adds up every run into its state, in chunks. Overwrites ws.refs and
// runs. A run that goes on from a state has the state among its operands.
func (ws *workspace[A, P]) sumRuns(runs []run) {
	first, refs := 0, 0
	for i := range runs {
		n := int(runs[i].n)
		if refs+n > chunkRefs {
			ws.sumChunk(runs[first:i])
			first, refs = i, 0
		}
		if n > chunkRefs {
			ws.sumLongRun(runs[i])
			first = i + 1
			continue
		}
		refs += n
	}
	ws.sumChunk(runs[first:])
}

// sumLongRun adds up a run that does not fit in a chunk piece by piece. The
// state that a piece leaves is the first operand of the next.
func (ws *workspace[A, P]) sumLongRun(r run) {
	for r.n > chunkRefs {
		ws.sumChunk([]run{{r.state, r.start, chunkRefs}})
		r.start += chunkRefs - 1
		r.n -= chunkRefs - 1
		ws.refs[r.start] = r.state
	}
	ws.sumChunk([]run{r})
}

// sumChunk adds up runs by pairwise trees, all runs' pairs of one level in one
// batch. Runs of at most chunkRefs operands in all, each at least one.
func (ws *workspace[A, P]) sumChunk(runs []run) {
	refs, next := ws.refs, curve.Ref(ws.slots)
	live := runs
	for {
		pairs := ws.pairs[:0]
		kept := live[:0]
		for _, r := range live {
			at := refs[r.start : r.start+r.n]
			switch {
			case r.n == 1: // only at the first level
				ws.adder.Move(ws.arena, r.state, at[0])
			case r.n == 2:
				pairs = append(pairs, curve.Pair{A: at[0], B: at[1], Dst: r.state})
			default:
				half := r.n / 2
				for j := range half {
					pairs = append(pairs, curve.Pair{A: at[2*j], B: at[2*j+1], Dst: next})
					at[j] = next
					next++
				}
				if r.n&1 == 1 {
					at[half] = at[r.n-1]
				}
				kept = append(kept, run{r.state, r.start, (r.n + 1) / 2})
			}
		}
		ws.pairs = pairs
		if len(pairs) == 0 {
			return
		}
		ws.adder.Add(ws.arena, pairs)
		live = kept
	}
}
