package cuda

import (
	"fmt"
	"math/bits"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/cuda/launch"
	"github.com/libcuzk/libcuzk/engine/vram"
)

// streamingPlan is the memory of a job whose parameter set crosses the bus in
// tiles, behind the kernels. No such job exists yet: the device path leaves
// vram.Need.Streaming nil. Rows and the witness block are those of today's
// jobs; the rest is how the tiles and the sum over them are planned.
type streamingPlan struct {
	plan
	tile   uint64 // points of G1 in a tile
	window uint64 // bits, signed: 2^(window-1) buckets
	affine uint64 // windows added at a time by batched affine additions; 0: into XYZZ sums
}

// planStreaming plans for a domain: the windows of the whole sum, since all
// their buckets live while the tiles pass.
func planStreaming(s shape, affine uint64) streamingPlan {
	m := uint64(1) << s.logSize
	p := streamingPlan{plan: plan{shape: s, capacity: min(s.aux, 1<<21)}, tile: min(m, 1<<21), affine: affine}
	p.window = min(max(uint64(bits.Len64(m)), 8)-4, 20)
	return p
}

// streamingTerms are the planned parts, in bytes.
type streamingTerms struct {
	tiles, pairs, counts, buckets, products, sums uint64
}

// terms are, for T points a tile, W = ceil(256 / c) windows of c bits, of
// which V are added at a time by affine additions:
//
//	tiles     2 T affine points          one is filled while the other is read
//	pairs     2 * 8 W T                  (bucket, point), sorted by counting into a second buffer
//	counts    4 W (2^(c-1) + 1)
//	buckets   W 2^(c-1) points           affine, or XYZZ of twice the size
//	products  V T / 2 field elements     prefix products of one batched inversion
//	sums      V (T / 2 + T / 4) points   two levels of the pairwise tree
//
// Sources: signed-digit Pippenger; batched affine additions by Montgomery's
// trick. A tile of G2 has half the points, and its sums over the dense list
// work in the same scratch.
func (p streamingPlan) terms() streamingTerms {
	windows, buckets := (255+1+p.window-1)/p.window, uint64(1)<<(p.window-1)
	bucket := launch.G1.SumBytes()
	if p.affine > 0 {
		bucket = launch.G1.AffineBytes()
	}
	return streamingTerms{
		tiles:    2 * p.tile * launch.G1.AffineBytes(),
		pairs:    2 * windows * p.tile * 8,
		counts:   windows * (buckets + 1) * launch.WordBytes,
		buckets:  windows * buckets * bucket,
		products: p.affine * (p.tile / 2) * launch.G1.FieldBytes(),
		sums:     p.affine * (p.tile/2 + p.tile/4) * launch.G1.AffineBytes(),
	}
}

func (t streamingTerms) scratch() uint64 { return t.pairs + t.counts + t.buckets + t.products + t.sums }

// requests are the blocks of the job and the witness blocks of those that
// overlap with it, which claim all else behind it.
func (p streamingPlan) requests(jobs int) []vram.Request {
	t := p.terms()
	r := p.need(nil).Resident
	r[blockScratch].Bytes = t.scratch()
	r = append(r, vram.Request{Bytes: t.tiles, Exact: true, Late: atEnd})
	for range jobs - 1 {
		r = append(r, r[blockWitness])
	}
	return r
}

// TestStreamingPlanForEveryDomain compares each planned term with its value
// worked out by hand, for XYZZ buckets, and the peak with their sum.
func TestStreamingPlanForEveryDomain(t *testing.T) {
	for logSize := range launch.MaxLogSize + 1 {
		t.Run(fmt.Sprintf("m = 2^%d", logSize), func(t *testing.T) {
			m := uint64(1) << logSize
			p := planStreaming(shapeOf(porep(logSize)), 0)
			w := []uint64{4, 4, 4, 4, 4, 4, 4, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 20, 20, 20, 20, 20}[logSize]
			require.Equal(t, w, p.window)
			tile, windows := min(m, 2_097_152), (256+w-1)/w
			terms := p.terms()
			require.Equal(t, streamingTerms{
				tiles: tile * 192, pairs: tile * windows * 16, counts: windows * (4<<(w-1) + 4), buckets: windows * (192 << (w - 1)),
			}, terms)
			exact := 96*m + terms.tiles + terms.scratch() + p.layout(0, p.capacity).bytes
			peak := vram.Peak(p.requests(1), 0)
			require.GreaterOrEqual(t, peak, exact)
			require.Less(t, peak, exact+2*vram.Granule)

			// The sums over the dense list need no scratch of their own.
			for _, g := range []launch.Group{launch.G1, launch.G2} {
				_, err := launch.PlanMSM(p.inputs+p.capacity, terms.scratch(), g)
				require.NoError(t, err, "an MSM over the list in %s", g)
			}
		})
	}
}

// TestTableOf16GiB is the table in docs/two-locks.md.
func TestTableOf16GiB(t *testing.T) {
	const context, twiddles, card = 0.51, 0.02, 15.3
	gib := func(bytes uint64) float64 { return float64(bytes) / (1 << 30) }
	p := planStreaming(shapeOf(porep(27)), 4)
	terms := p.terms()
	two := vram.Peak(p.requests(2), 0)
	for name, tc := range map[string]struct {
		bytes uint64
		want  float64
	}{
		"three blocks of 32 m":                 {96 << 27, 12},
		"witness blocks of two jobs":           {2 * p.layout(0, p.capacity).bytes, 0.30},
		"point tiles, 2 x 2^21":                {terms.tiles, 0.375},
		"buckets of 20-bit windows, affine":    {terms.buckets, 0.61},
		"sort of one tile":                     {terms.pairs + terms.counts, 0.43},
		"affine scratch, four windows at once": {terms.products + terms.sums, 0.75},
		"blocks of two overlapping jobs":       {two, 14.46},
	} {
		require.InDelta(t, tc.want, gib(tc.bytes), 0.006, name)
	}
	require.InDelta(t, 14.99, context+twiddles+gib(two), 0.006)
	require.Less(t, context+twiddles+gib(two), card)
	xyzz := planStreaming(p.shape, 0)
	require.InDelta(t, 14.85, context+twiddles+gib(vram.Peak(xyzz.requests(2), 0)), 0.006, "XYZZ buckets")
}
