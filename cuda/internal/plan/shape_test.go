package plan

import (
	"fmt"
	"math/bits"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/engine/groth16"
	"github.com/libcuzk/libcuzk/engine/srs"
	"github.com/libcuzk/libcuzk/internal/launch"
	"github.com/libcuzk/libcuzk/internal/vram"
)

// porep is a partition of a 32 GiB PoRep, scaled to a domain of 2^logSize: at
// 2^27 it has 328 inputs, 130,169,893 aux variables, and of these 129,753,292
// in a and 33,112,281 in b; one input is in b.
func porep(logSize int) groth16.Counts {
	scaled := func(n int) int { return n >> (27 - min(logSize, 27)) << max(0, logSize-27) }
	inputs := 1
	if logSize > 9 {
		inputs = 328
	}
	b := 1 + scaled(33_112_281)
	return groth16.Counts{
		H: 1<<logSize - 1, L: scaled(130_169_893), A: inputs + scaled(129_753_292), BG1: b, BG2: b, IC: inputs,
	}
}

// sizes adds up parts of a block, each rounded up to 256 bytes.
func sizes(parts ...uint64) (sum uint64) {
	for _, p := range parts {
		sum += (p + 255) / 256 * 256
	}
	return sum
}

func over(n, by uint64) uint64 { return (n + by - 1) / by }

// attempts are the plans that planResident may choose from for a shape.
func attempts(s Shape) (all []Plan) {
	for attempt := range planAttempts {
		p := Plan{Shape: s, Capacity: s.listFor(attempt, Limits{})}
		if p.divideScratch(attempt) != nil {
			break
		}
		all = append(all, p)
	}
	return all
}

// TestMemoryForEveryDomain goes through every domain and every plan that may
// be chosen for it. Each block that a job claims is compared with its formula,
// written out here a second time.
func TestMemoryForEveryDomain(t *testing.T) {
	for logSize := range launch.MaxLogSize + 1 {
		t.Run(fmt.Sprintf("m = 2^%d", logSize), func(t *testing.T) {
			c := porep(logSize)
			s := ShapeOf(c)
			require.EqualValues(t, logSize, s.LogSize)
			m, aux, inputs := uint64(1)<<logSize, uint64(c.L), uint64(c.IC)
			_, set := s.Sections(0)
			require.Equal(t, sizes(96*m, 96*aux, 96*uint64(c.A), 96*uint64(c.BG1), 192*uint64(c.BG2)), set, "parameter set")

			plans := attempts(s)
			require.NotEmpty(t, plans)
			for attempt, p := range plans {
				list := min(aux, max(max(aux/8, 1<<20)>>attempt, 1024))
				require.EqualValues(t, list, p.Capacity, "list")
				n := vram.Need{Resident: p.requests(), Set: vram.NewSet("", set)}
				require.Equal(t, []vram.Request{
					BlockA: {Bytes: 32 * m, Late: 2}, BlockB: {Bytes: 32 * m, Late: 0}, BlockC: {Bytes: 32 * m, Late: 1},
				}, n.Resident[:BlockWitness], "rows")
				witness := witnessBytes(aux, inputs, list)
				require.Equal(t, vram.Request{Bytes: witness, Exact: true, Late: 3}, n.Resident[BlockWitness], "witness block")

				var scratch uint64
				for _, of := range AllSections {
					scratch += checkScratch(t, p, of, attempt)
				}
				got := n.Resident[BlockScratch]
				require.Equal(t, vram.Request{Bytes: scratch, Exact: true, Late: 3},
					vram.Request{Bytes: sizes(got.Bytes), Exact: got.Exact, Late: got.Late}, "scratch block")
				checkPeak(t, n, set)
			}
		})
	}
}

// witnessBytes is the witness block of a list of so many entries.
func witnessBytes(aux, inputs, list uint64) uint64 {
	density := func(n uint64) uint64 { return sizes(4*over(n, 32), 4*(over(n, 1024)+1)) }
	positions := sizes(4 * (inputs + list))
	return sizes(4*over(aux, 32), 32*(inputs+list), 4*list) +
		2*density(aux) + density(inputs) + 4*positions + sizes(16+64*(4*192+384)+3*192+384)
}

// ranksBytes is the scratch of the ranks of n variables.
func ranksBytes(n uint64) uint64 { return sizes(4*over(n, 1024), 4*over(over(n, 1024), 2048)) }

// checkScratch compares a section's part of the scratch with the formula, and
// with what its launches declare that they touch.
func checkScratch(t *testing.T, p Plan, of srs.Section, attempt int) uint64 {
	t.Helper()
	const base = 1 << 40
	n := uint64(p.Inputs + p.Capacity)
	if of == srs.SectionH {
		n = 1 << p.LogSize
	}
	point := GroupOf(of).SumBytes()
	full, err := planMSM(of, uint32(n), 1<<62)
	require.NoError(t, err)
	least := max((2048+64)*point, ranksBytes(uint64(p.Aux)), ranksBytes(uint64(p.Inputs)))
	want := max(msmBytes(full, point)>>attempt, least)
	part := p.Scratch[of]
	require.Equal(t, want, part.Bytes, "scratch of section %s", of)

	chosen, err := p.MSM(of, uint32(n))
	require.NoError(t, err)
	require.LessOrEqual(t, msmBytes(chosen, point), part.Bytes, "the chosen MSM of section %s", of)
	scratch := launch.Range{Addr: base, Bytes: part.Bytes}
	whole := func(bytes uint64) launch.Range { return launch.Range{Bytes: bytes} }
	section := launch.Section{Aux: launch.Density{N: p.Aux, Bitmap: whole(launch.BitmapBytes(p.Aux)), Ranks: whole(launch.RanksBytes(p.Aux))}}
	calls := chosen.Calls(launch.MSMInput{
		Scalars: whole(n * launch.FrBytes), Points: []launch.Range{whole(1 << 39)},
		Results: []launch.Range{whole(chosen.ResultBytes(GroupOf(of)))}, Scratch: scratch,
	})
	calls = append(calls, section.Ones(GroupOf(of), whole(1<<39), whole(launch.BitmapBytes(p.Aux)), p.Aux, scratch, whole(point))...)
	calls = append(calls, section.Aux.Calls(scratch)...)
	for _, c := range calls {
		for _, a := range c.Touches {
			at := uint64(a.Base)
			if at >= base && at+a.Bytes > base+part.Bytes {
				require.Failf(t, "beyond the scratch", "%s touches up to byte %d of %d", c.Kernel.Name, at+a.Bytes-base, part.Bytes)
			}
		}
	}
	return sizes(part.Bytes)
}

// msmBytes is the scratch of an MSM of n scalars, W windows of c bits at a
// time, sums of `point` bytes. With B = W 2^(c-1) buckets:
//
//	4 B + 4 (B + 1) + 4 ceil(B / 2048)  counts, offsets, the scan's sums
//	4 W n                               sorted indices
//	the larger of
//	  8 W n                             entries of a sort in two steps
//	  point (B + runs + merged + B / chunk + 64 W) + 4 (runs + merged)
//
// and 4 (2 P + 1) for the P partitions of a sort in two steps. A thread adds up
// run = W n / 2^18 pairs, from 8 to 256; merges runs / 2^15 heads, from 4 to 16;
// and reduces chunk buckets, B / 2^16 rounded down to a power of two, from 4 to
// 64 and at most a window's.
//
// With affine additions the run is the plan's, and in at most 3 * 148 blocks of
// 128 threads each has 16-byte quads besides: 3 for every second pair (prefix
// products), and 6 and a word for two of three (nodes, steps).
func msmBytes(m launch.MSM, point uint64) uint64 {
	n, windows, perWindow := uint64(m.N), uint64(m.Batch), uint64(1)<<(m.Window-1)
	buckets, pairs := windows*perWindow, windows*n
	runs := over(pairs, min(max(pairs>>18, 8), 256))
	run := uint64(m.AffineRun())
	if run > 0 {
		runs = over(pairs, run)
	}
	merged := over(runs, min(max(runs>>15, 4), 16))
	chunk := uint64(4)
	for chunk < 64 && 2*chunk<<16 <= buckets {
		chunk *= 2
	}
	chunk = min(chunk, perWindow)
	sums := sizes(point*buckets, point*runs, 4*runs, point*merged, 4*merged, point*(buckets/chunk), 64*point*windows)
	if run > 0 {
		nodes := run - run/3
		sums += sizes(4, min(over(runs, 128), 3*148)*128*16*(3*(run/2)+6*nodes+over(nodes, 4)))
	}
	parts := partitions(m)
	if parts > 0 {
		sums = max(sums, sizes(8*pairs))
	}
	return sizes(4*parts, 4*buckets, 4*(buckets+1), 4*(parts+1), 4*over(buckets, 2048), 4*pairs) + sums
}

// partitions is how many a sort in two steps has, from 2^19 scalars on: 2^k for
// each window, 1 <= k <= 10 and less than the window's bits, 12288 altogether.
func partitions(m launch.MSM) uint64 {
	if m.N < 1<<19 {
		return 0
	}
	all := uint64(m.Batch) << 1
	for k := 2; k <= 10 && k < int(m.Window) && 2*all <= 12288; k++ {
		all *= 2
	}
	return all
}

// checkPeak sees that the peak is the sum of the blocks but for alignment, that
// a ledger of exactly the peak takes the job, and that one of less refuses it.
func checkPeak(t *testing.T, n vram.Need, set uint64) {
	t.Helper()
	requests := n.Resident
	if n.Streaming != nil {
		requests = n.Streaming
	}
	peak := vram.Peak(requests, set)
	exact := set
	for _, r := range requests {
		exact += r.Bytes
	}
	require.GreaterOrEqual(t, peak, exact)
	require.Less(t, peak, exact+3*vram.Granule)
	l, err := vram.NewLedger(peak, vram.Granule)
	require.NoError(t, err)
	require.NoError(t, l.Check(n))
	if n.Streaming == nil {
		require.True(t, l.BeginLoad(n, true))
		l.EndLoad(n.Set)
	}
	_, ok := l.Claim(n)
	require.True(t, ok)
	l, err = vram.NewLedger(peak-vram.Granule, vram.Granule)
	require.NoError(t, err)
	var tooLarge *vram.TooLargeError
	require.ErrorAs(t, l.Check(n), &tooLarge)
	require.Equal(t, peak, tooLarge.NeedBytes)
}

// TestTableOfMemory is the table in docs/cuda.md, in GiB.
func TestTableOfMemory(t *testing.T) {
	for logSize, want := range map[int]struct{ set, ample, scratch, least float64 }{
		18: {0.09, 0.67, 0.64, 0.10},
		20: {0.35, 1.43, 1.28, 0.30},
		22: {1.38, 2.24, 1.82, 0.53},
		24: {5.52, 7.64, 6.04, 1.82},
		26: {22.1, 22.8, 16.3, 12.9},
		27: {44.1, 41.9, 29.1, 17.5},
	} {
		t.Run(fmt.Sprintf("m = 2^%d", logSize), func(t *testing.T) {
			s := ShapeOf(porep(logSize))
			_, set := s.Sections(0)
			plans := attempts(s)
			ample, least := plans[0], plans[len(plans)-1]
			digits := 0.006
			if want.set > 10 {
				digits = 0.06
			}
			assert.InDelta(t, want.set, gib(set), digits, "parameter set")
			assert.InDelta(t, want.ample, gib(vram.Peak(ample.requests(), 0)), digits, "ample")
			assert.InDelta(t, want.scratch, gib(ample.scratchBytes()), digits, "of that scratch")
			assert.InDelta(t, want.least, gib(vram.Peak(least.requests(), 0)), digits, "least")
		})
	}
}

func TestDomainOfAShape(t *testing.T) {
	for h, want := range map[int]uint32{0: 0, 1: 1, 2: 1, 3: 2, 4: 2, 1<<20 - 1: 20, 1 << 20: 20} {
		assert.Equal(t, want, ShapeOf(groth16.Counts{H: h}).LogSize, "%d points of h", h)
		assert.LessOrEqual(t, bits.Len(uint(h)), int(want)+1)
	}
}
