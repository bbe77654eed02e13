package plan

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/engine/srs"
	"github.com/libcuzk/libcuzk/internal/launch"
	"github.com/libcuzk/libcuzk/internal/vram"
)

// gib is in GiB.
func gib(bytes uint64) float64 { return float64(bytes) / (1 << 30) }

// within is the check of a ledger with a budget of its own.
func within(t testing.TB, bytes uint64) func(vram.Need) error {
	t.Helper()
	l, err := vram.NewLedger(bytes, vram.Granule)
	require.NoError(t, err)
	return l.Check
}

// scaled16 is 16 GiB scaled to a domain: 16 GiB are for 2^27.
func scaled16(logSize int) uint64 { return 16 << 30 >> (27 - logSize) }

// TestStreamingMemoryForEveryDomain compares, for every domain and for every
// list and tile that may be chosen, what a job that streams claims with its
// formula, written out here a second time, and with what its launches touch.
func TestStreamingMemoryForEveryDomain(t *testing.T) {
	for logSize := range launch.MaxLogSize + 1 {
		t.Run(fmt.Sprintf("m = 2^%d", logSize), func(t *testing.T) {
			c := porep(logSize)
			s := ShapeOf(c)
			_, set := s.Sections(0)
			m, aux, inputs := uint64(1)<<logSize, uint64(c.L), uint64(c.IC)
			candidates := streamingPlans(s, Limits{})
			require.NotEmpty(t, candidates)
			for _, candidate := range candidates {
				p, err := candidate.fitting(func(*Plan) error { return nil })
				require.NoError(t, err)
				n := vram.Need{Streaming: p.requests(), Set: vram.NewSet("", set)}
				require.Equal(t, []vram.Request{
					BlockA: {Bytes: 32 * m, Late: 2}, BlockB: {Bytes: 32 * m, Late: 0}, BlockC: {Bytes: 32 * m, Late: 1},
				}, n.Streaming[:BlockWitness], "rows")
				require.Equal(t, vram.Request{Bytes: witnessBytes(aux, inputs, uint64(p.Capacity)), Exact: true, Late: 3}, n.Streaming[BlockWitness])

				var shared uint64
				for _, of := range Branches {
					sum, g := p.Sums[of], GroupOf(of)
					list := sizes((inputs + uint64(p.Capacity)) * g.AffineBytes())
					shared = max(shared, list+sum.ScratchBytes(), (2048+64)*g.SumBytes())
				}
				tile := uint64(p.Sums[srs.SectionH].TileN)
				require.LessOrEqual(t, tile, m)
				h := max(p.Sums[srs.SectionH].ScratchBytes(), ranksBytes(aux), ranksBytes(inputs))
				require.Equal(t, vram.Request{Bytes: sizes(shared) + h, Exact: true, Late: 3}, n.Streaming[BlockScratch])
				require.Equal(t, vram.Request{Bytes: 2 * 96 * tile, Exact: true, Late: 3}, n.Streaming[BlockTiles])
				checkStreamingLaunches(t, p)
			}
			last, err := candidates[len(candidates)-1].fitting(func(*Plan) error { return nil })
			require.NoError(t, err)
			checkPeak(t, vram.Need{Streaming: last.requests(), Set: vram.NewSet("", set)}, 0)
		})
	}
}

// checkStreamingLaunches sees that no launch touches scratch beyond its part.
func checkStreamingLaunches(t *testing.T, p *Plan) {
	t.Helper()
	const base, far = 1 << 40, 1 << 42
	elsewhere := func(bytes uint64) launch.Range { return launch.Range{Addr: far, Bytes: bytes} }
	check := func(of srs.Section, calls []launch.Call) {
		end := base + p.Scratch[of].Offset + p.Scratch[of].Bytes
		for _, c := range calls {
			for _, a := range c.Touches {
				at := uint64(a.Base)
				if at < far && (at < base+p.Scratch[of].Offset || at+a.Bytes > end) {
					require.Failf(t, "beyond the scratch", "%s of section %s touches bytes %d to %d", c.Kernel.Name, of, at-base, at+a.Bytes-base)
				}
			}
		}
	}
	scratchOf := func(of srs.Section) launch.Range {
		return launch.Range{Addr: base + p.Scratch[of].Offset, Bytes: p.Scratch[of].Bytes}
	}
	h := p.Sums[srs.SectionH]
	calls := h.Reset(scratchOf(srs.SectionH))
	calls = append(calls, h.Tile(launch.TileInput{
		N: h.TileN, Scalars: elsewhere(32 * uint64(h.TileN)), Points: elsewhere(p.TileBytes()), Scratch: scratchOf(srs.SectionH),
	})...)
	check(srs.SectionH, append(calls, h.Reduce(scratchOf(srs.SectionH), elsewhere(h.ResultBytes()))...))
	for _, of := range Branches {
		n := p.maxScalars(of)
		sum, scratch := p.Sums[of], scratchOf(of)
		section := launch.Section{Aux: launch.Density{N: p.Aux, Bitmap: elsewhere(launch.BitmapBytes(p.Aux)), Ranks: elsewhere(launch.RanksBytes(p.Aux))}}
		points := scratch.Slice(0, uint64(n)*GroupOf(of).AffineBytes())
		rest := scratch.Slice(p.GatheredBytes(of), sum.ScratchBytes())
		require.LessOrEqual(t, points.Bytes, p.GatheredBytes(of))
		calls := section.Ones(GroupOf(of), elsewhere(1<<39), elsewhere(launch.BitmapBytes(p.Aux)), p.Aux, scratch, elsewhere(GroupOf(of).SumBytes()))
		calls = append(calls, sum.Reset(rest)...)
		calls = append(calls, sum.Tile(launch.TileInput{N: n, Scalars: elsewhere(32 * uint64(n)), Points: points, Scratch: rest})...)
		check(of, append(calls, sum.Reduce(rest, elsewhere(sum.ResultBytes()))...))
	}
}

// fixedBytes is what the back end keeps of an H200 while it is open; the test of
// the reserve compares it.
const fixedBytes = 710 << 20

// TestStreamingBudgets plans for 16 GiB scaled to each domain: two jobs overlap,
// with the list that a PoRep's witness needs and few additions beyond those of a
// job with room.
func TestStreamingBudgets(t *testing.T) {
	for logSize := 20; logSize <= 27; logSize++ {
		t.Run(fmt.Sprintf("m = 2^%d", logSize), func(t *testing.T) {
			c := porep(logSize)
			s := ShapeOf(c)
			_, set := s.Sections(0)
			budget := scaled16(logSize)
			if logSize == 27 {
				budget -= fixedBytes // the context counts where it is not small beside the rest
			}
			p, err := planStreaming(s, vram.NewSet("", set), Limits{}, within(t, budget))
			require.NoError(t, err)
			require.LessOrEqual(t, vram.Peak(p.requestsOf(2), 0), budget)
			assert.GreaterOrEqual(t, 60*p.Capacity, p.Aux, "the list holds 1/60 of the aux variables")
			ample, err := planStreaming(s, vram.NewSet("", set), Limits{}, func(vram.Need) error { return nil })
			require.NoError(t, err)
			h, most := p.Sums[srs.SectionH], ample.Sums[srs.SectionH]
			t.Logf("%.3f GiB: lists of %d, %d tiles of %d points, windows of %d bits (%d), cost %.2f times",
				gib(budget), p.Capacity, h.Tiles(), h.TileN, h.Window(), most.Window(), float64(p.cost())/float64(ample.cost()))
			assert.Less(t, float64(p.cost()), 2.2*float64(ample.cost()))
		})
	}
}

// TestTableOfStreamingBudgets is the second table of docs/two-locks.md, "The
// 16 GiB budget".
func TestTableOfStreamingBudgets(t *testing.T) {
	for _, row := range []struct {
		logSize                 int
		budgetGiB               float64
		tiles, tileLog, windows uint32
		cost                    float64 // against ample memory
	}{
		{20, 0.125, 32, 15, 10, 2.1},
		{22, 0.5, 32, 17, 13, 1.6},
		{22, 0.7, 16, 18, 16, 1.1},
		{24, 2, 32, 19, 16, 1.1},
		{26, 8, 32, 21, 18, 1.15},
	} {
		t.Run(fmt.Sprintf("2^%d in %g GiB", row.logSize, row.budgetGiB), func(t *testing.T) {
			s := ShapeOf(porep(row.logSize))
			_, set := s.Sections(0)
			p, err := planStreaming(s, vram.NewSet("", set), Limits{}, within(t, uint64(row.budgetGiB*(1<<30))))
			require.NoError(t, err)
			ample, err := planStreaming(s, vram.NewSet("", set), Limits{}, func(vram.Need) error { return nil })
			require.NoError(t, err)
			h := p.Sums[srs.SectionH]
			assert.Equal(t, []uint32{row.tiles, 1 << row.tileLog, row.windows}, []uint32{h.Tiles(), h.TileN, h.Window()})
			assert.InDelta(t, row.cost, float64(p.cost())/float64(ample.cost()), 0.05)
		})
	}
}

// TestTableOf16GiB is the table in docs/two-locks.md.
func TestTableOf16GiB(t *testing.T) {
	s := ShapeOf(porep(27))
	_, set := s.Sections(0)
	p, err := planStreaming(s, vram.NewSet("", set), Limits{}, within(t, 16<<30-fixedBytes))
	require.NoError(t, err)
	h, lists := p.Sums[srs.SectionH], p.Scratch[srs.SectionH].Offset
	assert.EqualValues(t, []uint32{2_169_499, 1 << 22, 32, 19, 14}, []uint32{p.Capacity, h.TileN, h.Tiles(), h.Window(), h.Windows()})
	two := vram.Peak(p.requestsOf(2), 0)
	for name, tc := range map[string]struct {
		bytes uint64
		want  float64
	}{
		"context and fixed buffers":        {fixedBytes, 0.69},
		"three blocks of 32 m":             {96 << 27, 12},
		"witness blocks of two jobs":       {2 * p.requests()[BlockWitness].Bytes, 0.30},
		"the list's points, and their sum": {lists, 0.90},
		"point tiles":                      {2 * p.TileBytes(), 0.75},
		"buckets":                          {uint64(h.Windows()) << (h.Window() - 1) * launch.G1.SumBytes(), 0.66},
		"sums over tiles, in all":          {h.ScratchBytes(), 1.34},
		"all blocks":                       {two, 15.30},
	} {
		assert.InDelta(t, tc.want, gib(tc.bytes), 0.006, name)
	}
	assert.InDelta(t, 15.99, gib(fixedBytes+two), 0.006)

	// A device of 16 GiB has about 15.3 of them free.
	p, err = planStreaming(s, vram.NewSet("", set), Limits{}, within(t, 153*(1<<30)/10-fixedBytes))
	require.NoError(t, err)
	assert.LessOrEqual(t, gib(fixedBytes+vram.Peak(p.requestsOf(2), 0)), 15.3)
}

// TestTiers says which tiers a budget leaves to a circuit of 2^22.
func TestTiers(t *testing.T) {
	s := ShapeOf(porep(22))
	_, bytes := s.Sections(0)
	set := vram.NewSet("", bytes)
	for name, test := range map[string]struct {
		bytes               uint64
		resident, streaming bool
	}{
		"ample":                             {64 << 30, true, true},
		"room for the set and a small job":  {3 << 30, true, true},
		"the same, in too many launches":    {2 << 30, false, true},
		"room for the set and no job":       {bytes + 200<<20, false, true},
		"0.7 GiB, less than the set":        {7 << 30 / 10, false, true},
		"less than the rows of a job":       {384 << 20, false, false},
		"less than the sums need (410 MiB)": {390 << 20, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := New(s, set, Limits{}, within(t, test.bytes))
			assert.Equal(t, test.resident, p.Resident != nil)
			assert.Equal(t, test.streaming, p.Streaming != nil)
			if test.resident || test.streaming {
				require.NoError(t, err)
				n := p.Need(set)
				assert.Equal(t, test.resident, n.Resident != nil)
				assert.Equal(t, test.streaming, n.Streaming != nil)
				return
			}
			var tooLarge *vram.TooLargeError
			require.True(t, errors.As(err, &tooLarge))
			assert.Equal(t, test.bytes, tooLarge.BudgetBytes)
			_, err = New(s, set, Limits{}, within(t, tooLarge.NeedBytes))
			require.NoError(t, err, "what the error asks for is enough")
			_, err = New(s, set, Limits{}, within(t, tooLarge.NeedBytes-vram.Granule))
			require.Error(t, err, "and no less")
		})
	}
}

// TestInputsThatAreMoreThanAList are those of a circuit that cannot be streamed,
// since they lie in the list, which is one tile.
func TestInputsThatAreMoreThanAList(t *testing.T) {
	for _, inputs := range []uint32{maxTile, maxTile + 1} {
		s := ShapeOf(porep(25))
		s.Inputs = inputs
		set := vram.NewSet("", 1)
		all, err := New(s, set, Limits{}, func(vram.Need) error { return nil })
		require.NoError(t, err)
		assert.NotNil(t, all.Resident)
		assert.Nil(t, all.Streaming)
		refused := errors.New("refused")
		_, err = New(s, set, Limits{}, func(vram.Need) error { return refused })
		require.ErrorIs(t, err, refused)
	}
}

// TestLaunchesWithinEveryBudget plans a PoRep's job within less and less memory.
// However many launches it then takes, with lists full or of a PoRep's 1.6 %,
// those that may be outstanding do not block.
func TestLaunchesWithinEveryBudget(t *testing.T) {
	for log := 14; log <= launch.MaxLogSize; log++ {
		s := ShapeOf(porep(log))
		_, bytes := s.Sections(0)
		set := vram.NewSet("", bytes)
		alone, streamed := 0, 0
		for budget := 6*bytes + 1<<30; ; budget = budget * 15 / 16 {
			all, err := New(s, set, Limits{}, within(t, budget))
			if err != nil {
				break
			}
			p := all.Resident
			if p == nil {
				streamed++
				continue
			}
			launches := [2]int{otherLaunches, otherLaunches}
			for _, of := range AllSections {
				full := p.maxScalars(of)
				for i, n := range []uint32{full, min(full, p.Inputs+p.Aux/denseShare)} {
					if of == srs.SectionH {
						n = full
					}
					m, err := p.MSM(of, n)
					require.NoError(t, err)
					launches[i] += m.Launches()
				}
			}
			most := max(launches[0], launches[1])
			require.LessOrEqual(t, most, p.Launches, "2^%d within %d bytes: %v", log, budget, launches)
			require.LessOrEqual(t, most*p.RoundsAhead(), MaxLaunches*p.Tokens()/MaxEnqueued, "2^%d within %d bytes: rounds under way", log, budget)
			if p.Tokens() > 1 {
				alone++
			}
		}
		t.Logf("2^%d: %d budgets with a job alone, %d without a resident one", log, alone, streamed)
	}
}

// TestHoldsOfTheComputeLock enqueues the largest sum of the plans for 2^14 to 2^23
// rows: all its launches, in order, and never more than maxHold of
// them at a time. -v prints the most that one hold would have had otherwise.
func TestHoldsOfTheComputeLock(t *testing.T) {
	for log := 14; log <= 24; log += 3 {
		s := ShapeOf(porep(log))
		_, bytes := s.Sections(0)
		set := vram.NewSet("", bytes)
		largest := 0
		for budget := 6*bytes + 1<<30; ; budget = budget * 3 / 4 {
			all, err := New(s, set, Limits{}, within(t, budget))
			if err != nil {
				break
			}
			if all.Resident == nil {
				continue
			}
			for _, of := range AllSections {
				m, err := all.Resident.MSM(of, all.Resident.maxScalars(of))
				require.NoError(t, err)
				largest = max(largest, m.Launches())
			}
		}
		calls, held := make([]launch.Call, largest), 0
		for i := range calls {
			calls[i].GridX = uint32(i)
		}
		require.NoError(t, InHolds(calls, func(part []launch.Call) error {
			require.LessOrEqual(t, len(part), maxHold)
			for i := range part {
				require.EqualValues(t, held+i, part[i].GridX)
			}
			held += len(part)
			return nil
		}))
		assert.Equal(t, largest, held)
		t.Logf("2^%d: %d launches in one sum", log, largest)
	}
}
