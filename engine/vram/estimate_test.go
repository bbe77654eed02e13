package vram

import (
	"fmt"
	"math/bits"
	"testing"

	"github.com/stretchr/testify/require"
)

// porep32 is a partition of a 32 GiB PoRep (design: section 1).
var porep32 = Shape{M: 1 << 27, Inputs: 328, Aux: 130_169_893, AAux: 129_753_292, BInputs: 1, BAux: 33_112_281}

// affineStreaming are the kernels of the design's table for 16 GiB: tiles of
// 2^21 points, all windows' buckets alive, four windows added at a time.
func affineStreaming() Kernels {
	const w = 20
	return Kernels{
		ClassBits: 2, DenseCap: 1 << 21, TileSlots: 2,
		Sums: []MSM{{
			Name: "h", Points: 1 << 21, PointBytes: G1Bytes, WindowBits: w, SortWindows: Windows(w),
			BucketBytes: G1Bytes, BucketWindows: Windows(w), AffineWindows: 4,
		}},
	}
}

// xyzzKernels add into XYZZ buckets, h in G1 and b in G2.
func xyzzKernels(m uint64, streaming bool) Kernels {
	w := min(max(uint64(bits.Len64(m)), 8)-4, 20)
	tile := m
	if streaming {
		tile = min(m, 1<<21)
	}
	k := Kernels{ClassBits: 2, DenseCap: max(1, m/64), TileSlots: 2}
	for _, g := range []struct {
		name  string
		bytes uint64
	}{{"h", G1Bytes}, {"b2", G2Bytes}} {
		s := MSM{Name: g.name, Points: tile, PointBytes: g.bytes, WindowBits: w, SortWindows: 1,
			BucketBytes: 2 * g.bytes, BucketWindows: 1}
		if streaming {
			s.SortWindows, s.BucketWindows = Windows(w), Windows(w)
		}
		k.Sums = append(k.Sums, s)
	}
	return k
}

// TestTableOf16GiB is the table of the design's section 3, corrected: the
// second level of the affine tree needs its own sums, 0.19 GiB more.
func TestTableOf16GiB(t *testing.T) {
	const context, twiddles, card = 0.51, 0.02, 15.3
	e := porep32.Estimate(affineStreaming(), true)
	h := e.Phases[0]
	for name, tc := range map[string]struct {
		bytes uint64
		want  float64 // GiB
	}{
		"three blocks":                         {3 * e.Rows.Bytes, 12},
		"classes and dense lists, two jobs":    {2 * sum(e.Classes), 0.26},
		"point tiles, 2 x 2^21":                {e.Tiles[0].Bytes, 0.375},
		"buckets of 20-bit windows, affine":    {h[2].Bytes, 0.61},
		"sort of one tile":                     {h[0].Bytes + h[1].Bytes, 0.43},
		"affine scratch, four windows at once": {h[3].Bytes + h[4].Bytes, 0.75},
		"blocks of two overlapping jobs":       {e.PeakOfTwo(), 14.43},
	} {
		require.InDelta(t, tc.want, gib(tc.bytes), 0.006, name)
	}
	require.InDelta(t, 14.96, context+twiddles+gib(e.PeakOfTwo()), 0.006)
	require.Less(t, context+twiddles+gib(e.PeakOfTwo()), card)
}

func TestWindows(t *testing.T) {
	// 255 bits and a carry: a window size that divides 255 needs one more.
	for w, want := range map[uint64]uint64{1: 256, 15: 18, 16: 16, 17: 16, 20: 13, 22: 12, 51: 6} {
		require.Equal(t, want, Windows(w), "windows of %d bits", w)
	}
}

// TestEstimateForEveryDomain goes through every domain in both tiers. Each
// term is compared with its value in units of 2^k bytes, worked out by hand
// from the formula: shapes are such that no rounding is involved.
func TestEstimateForEveryDomain(t *testing.T) {
	for log := range 29 {
		for _, streaming := range []bool{false, true} {
			t.Run(fmt.Sprintf("m = 2^%d, streaming %v", log, streaming), func(t *testing.T) {
				m := uint64(1) << log
				s := Shape{M: m, Inputs: 1, Aux: m - 1, AAux: m - 1, BInputs: 1, BAux: m / 4}
				k := xyzzKernels(m, streaming)
				e := s.Estimate(k, streaming)

				require.Equal(t, m<<5, e.Rows.Bytes)
				require.Equal(t, (m+3)/4, e.Classes[0].Bytes, "two bits a scalar")
				require.Equal(t, max(1, m>>6)*36, e.Classes[1].Bytes)

				w := k.Sums[0].WindowBits
				tile, windows := m, uint64(1)
				if streaming {
					tile, windows = min(m, 2_097_152), (256+w-1)/w
					require.Equal(t, tile*96*2, e.Tiles[0].Bytes)
					require.Equal(t, tile*192*2, e.Tiles[1].Bytes)
				} else {
					require.Empty(t, e.Tiles)
				}
				for i, point := range []uint64{96, 192} {
					p := e.Phases[i]
					require.Equal(t, tile*windows*16, p[0].Bytes, "pairs")
					require.Equal(t, windows*(4<<(w-1)+4), p[1].Bytes, "counts")
					require.Equal(t, windows*(2*point<<(w-1)), p[2].Bytes, "buckets")
					require.Zero(t, p[3].Bytes+p[4].Bytes, "no affine scratch")
				}
				require.Equal(t, sum(e.Phases[1]), e.Scratch(), "G2 is the larger phase")

				// The peak is the sum of the terms but for alignment.
				exact := 3*e.Rows.Bytes + sum(e.Classes) + e.Scratch()
				if streaming {
					exact += e.Tiles[1].Bytes
				}
				require.GreaterOrEqual(t, e.Peak(), exact)
				require.LessOrEqual(t, e.Peak(), exact+Granule+6*blockAlign)

				// A ledger of exactly the peak takes the job, one of less refuses.
				l, err := NewLedger(e.Peak(), Granule)
				require.NoError(t, err)
				n := Need{Resident: e.Requests()}
				require.NoError(t, l.Check(n))
				_, ok := l.Claim(n)
				require.True(t, ok)
				if e.Peak() > Granule {
					l, err = NewLedger(e.Peak()-Granule, Granule)
					require.NoError(t, err)
					var tooLarge *TooLargeError
					require.ErrorAs(t, l.Check(n), &tooLarge)
					require.Equal(t, e.Peak(), tooLarge.NeedBytes)
				}
			})
		}
	}
}

// TestAffineScratchOfAWholeWindow are the figures of the design's section 3.5
// for ample VRAM at 2^27, in GiB.
func TestAffineScratchOfAWholeWindow(t *testing.T) {
	m := MSM{Name: "h", Points: 1 << 27, PointBytes: G1Bytes, WindowBits: 22, SortWindows: 1,
		BucketBytes: G1Bytes, BucketWindows: 12, AffineWindows: 1}
	terms := m.terms()
	require.InDelta(t, 2, gib(terms[0].Bytes), 0.001, "sort")
	require.InDelta(t, 2.25, gib(terms[2].Bytes), 0.001, "buckets")
	require.InDelta(t, 3, gib(terms[3].Bytes), 0.001, "prefix products")
	require.InDelta(t, 6+3, gib(terms[4].Bytes), 0.001, "first and second level of sums")
}
