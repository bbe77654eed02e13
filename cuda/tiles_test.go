package cuda

import (
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/cuda/driver"
	"github.com/libcuzk/libcuzk/cuda/internal/plan"
	"github.com/libcuzk/libcuzk/cuda/internal/registered"
	"github.com/libcuzk/libcuzk/engine/srs"
	"github.com/libcuzk/libcuzk/internal/circuits/gv"
	"github.com/libcuzk/libcuzk/internal/circuits/synth"
	"github.com/libcuzk/libcuzk/internal/sched"
	"github.com/libcuzk/libcuzk/internal/vram"
	"github.com/libcuzk/libcuzk/tests/cudasim"
	"github.com/libcuzk/libcuzk/tests/golden"
)

// streamingOptions are those under which the largest of some circuits just fits
// if its set is streamed, in several tiles. A set takes a granule at least, so
// none fits beside it.
func streamingOptions(t testing.TB, of ...proven) Options {
	t.Helper()
	o := Options{tilePoints: 100, chunkBytes: vram.Granule}
	o.BudgetBytes = leastBudgetFor(t, o, of...)
	return o
}

// requireStreamed asserts that all proofs so far were made with streamed sets.
func requireStreamed(t testing.TB, d *device, proofs int) {
	t.Helper()
	u := d.Stats()
	require.EqualValues(t, proofs, u.Streamed)
	require.Zero(t, u.SetBytes, "no set lies on the card")
	require.LessOrEqual(t, u.MappedBytes, u.BudgetBytes-u.FixedBytes)
}

func TestGoldenProofsStreamed(t *testing.T) {
	golden.Each(t, func(t *testing.T, c golden.Case) {
		if c.Name == "sha512" && !onCard() {
			t.Skip("2^16 rows take about 20 s on the simulator; TestGoldenProofs has them")
		}
		p, err := srs.Open(c.Params, srs.Options{})
		require.NoError(t, err)
		defer func() { assert.NoError(t, p.Release()) }()
		d, _ := open(t, streamingOptions(t, proven{params: p}), cudasim.Config{Declared: true})
		defer d.Drop(p)
		for _, path := range c.Witnesses {
			f, err := gv.Read(path)
			require.NoError(t, err)
			assert.Equal(t, *f.Proof, prove(t, d, p, &f.Assignment, f.R, f.S), path)
		}
		requireStreamed(t, d, len(c.Witnesses))
		assert.EqualValues(t, p.PointBytes(), d.Stats().HostSetBytes)
	})
}

func TestGeneratedCircuitsStreamed(t *testing.T) {
	for name, test := range map[string]struct {
		shape synth.Shape
		list  int
		tile  uint32
	}{
		"a single row":                   {synth.Shape{Rows: 1, Inputs: 1}, 0, 100},
		"two rows":                       {synth.Dense(2, 1), 0, 1},
		"rows just above a power":        {synth.Dense(17, 3), 0, 5},
		"all dense, two tiles":           {synth.Dense(128, 4), 0, 64},
		"one tile for all":               {synth.PoRepLike(200, 40), 0, 256},
		"a tile of one point at the end": {synth.Dense(60, 3), 0, 31},
		"equal points in all tiles":      {duplicates(synth.Dense(200, 3)), 0, 50},
		"many inputs":                    {synth.PoRepLike(500, 300), 0, 100},
		"the list overflows":             {synth.Dense(200, 5), 50, 100},
		"the list overflows many times":  {synth.Dense(100, 2), 9, 100},
	} {
		t.Run(name, func(t *testing.T) {
			p := makeProven(t, test.shape, 1)
			o := Options{ListScalars: test.list, tilePoints: test.tile, chunkBytes: vram.Granule}
			o.BudgetBytes = leastBudgetFor(t, o, p)
			d, _ := open(t, o, cudasim.Config{Declared: true})
			r, s := p.circuit.Blinding()
			assert.Equal(t, p.want, prove(t, d, p.params, p.circuit.Assignment(), r, s))
			requireStreamed(t, d, 1)
		})
	}
}

// TestMixedTiers proves circuits of two sets at the same time: one stays on the
// card, which leaves no room for the other. Memory is for one job of each at most.
func TestMixedTiers(t *testing.T) {
	small, large := makeProven(t, synth.Dense(100, 3), 1), makeProven(t, synth.PoRepLike(2000, 9), 2)
	o := streamingOptions(t, large)
	o.ListScalars = 150                                        // dense values go in rounds
	o.BudgetBytes = leastBudgetFor(t, o, large) + vram.Granule // for the small set
	d, sim := open(t, o, cudasim.Config{Seed: 4, Declared: true})
	require.NoError(t, d.Load(t.Context(), small.params), "first come, first to stay")
	const workers, rounds = 3, 4
	var group sync.WaitGroup
	for w := range workers {
		group.Go(func() {
			for i := range rounds {
				p := []proven{small, large}[(w+i)%2]
				got, err := sums(t.Context(), d, p)
				if assert.NoError(t, err) {
					p.check(t, got)
				}
			}
		})
	}
	group.Wait()
	u := d.Stats()
	assert.EqualValues(t, workers*rounds/2, u.Streamed, "the jobs of the other set")
	assert.NotZero(t, u.SetBytes, "the small one stays")
	if sim != nil {
		r := sim.Report()
		assert.LessOrEqual(t, r.Devices[0].Peak, o.BudgetBytes)
		assert.Empty(t, r.DeviceWide, "no job waits for the whole device")
		assert.Less(t, r.MaxOutstanding, uint64(400))
	}
}

// TestTwoSetsInTurn uses two sets under a budget for one: the first to be loaded
// stays and the other is streamed, until the first has not been used for a while.
func TestTwoSetsInTurn(t *testing.T) {
	a, b := makeProven(t, synth.Dense(40, 3), 1), makeProven(t, synth.Dense(50, 3), 2)
	o := Options{tilePoints: 100, chunkBytes: vram.Granule}
	s := plan.ShapeOf(b.params.Counts())
	_, bytes := s.Sections(0)
	_, err := plan.New(s, vram.NewSet("", bytes), o.limits(), func(n vram.Need) error {
		if n.Resident != nil {
			o.BudgetBytes = fixedHere(t) + vram.Peak(n.Resident, bytes)
		}
		return &vram.TooLargeError{}
	})
	require.Error(t, err, "the last plan tried is the least")
	d, _ := open(t, o, cudasim.Config{})
	proveOne := func(p proven) {
		t.Helper()
		got, err := sums(t.Context(), d, p)
		require.NoError(t, err)
		p.check(t, got)
	}
	for range vram.UnusedAfter {
		proveOne(a)
		proveOne(b)
	}
	streamed := func() uint64 { return d.Stats().Streamed }
	assert.EqualValues(t, vram.UnusedAfter, streamed(), "all partitions of the second set")
	for range vram.UnusedAfter - 1 {
		proveOne(b)
	}
	assert.EqualValues(t, 2*vram.UnusedAfter-1, streamed(), "the first set has been used")
	// The first set is no longer used: the second is loaded, and streams no more.
	for before := uint64(0); before != streamed(); {
		require.Less(t, streamed(), uint64(100*vram.UnusedAfter))
		before = streamed()
		proveOne(b)
	}
}

// TestAnIdleSetGoesForAStreamingJob needs the place of a set that was used last.
func TestAnIdleSetGoesForAStreamingJob(t *testing.T) {
	small, large := makeProven(t, synth.Dense(20, 3), 1), makeProven(t, synth.PoRepLike(2000, 9), 2)
	d, _ := open(t, streamingOptions(t, large), cudasim.Config{})
	for range 2 {
		for _, p := range []proven{small, large} {
			got, err := sums(t.Context(), d, p)
			require.NoError(t, err)
			p.check(t, got)
		}
	}
	assert.GreaterOrEqual(t, d.Stats().Streamed, uint64(2))
}

// TestCancelAStreamingJob cancels at random moments: in the queue, while the
// set is pinned, between tiles, at the end.
func TestCancelAStreamingJob(t *testing.T) {
	p := makeProven(t, synth.PoRepLike(1500, 9), 2)
	d, _ := open(t, streamingOptions(t, p), cudasim.Config{Seed: 5})
	var group sync.WaitGroup
	for w := range 3 {
		group.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(w), 2))
			for range 6 {
				cancelSoon(t, d, p, rng)
			}
		})
	}
	group.Wait()
	got, err := sums(t.Context(), d, p)
	require.NoError(t, err, "cancelled jobs leave the device as it was")
	p.check(t, got)
}

// TestLostWhileStreaming breaks the context at each stage of a streaming job:
// the set is pinned anew by the next context.
func TestLostWhileStreaming(t *testing.T) {
	needsFaults(t)
	p := makeProven(t, synth.Dense(300, 3), 1)
	const illegalAddress = 700
	for name, test := range map[string]struct {
		fault cudasim.Fault
		again bool // the rows have not been read yet
	}{
		"while the set is pinned":   {cudasim.Fault{Call: "cuMemHostRegister", Nth: 2, Code: illegalAddress, Sticky: true}, true},
		"asking for its addresses":  {cudasim.Fault{Call: "cuMemHostGetDevicePointer", Nth: 3, Code: illegalAddress, Sticky: true}, true},
		"in a sum over host memory": {cudasim.Fault{Call: cudasim.RunKernel, Nth: 25, Code: illegalAddress}, false},
		"at a late launch":          {cudasim.Fault{Call: "cuLaunchKernel", Nth: 90, Code: illegalAddress, Sticky: true}, false},
		"copying a tile":            {cudasim.Fault{Call: cudasim.RunCopy, Nth: 12, Code: illegalAddress}, false},
	} {
		t.Run(name, func(t *testing.T) {
			d, sim := open(t, streamingOptions(t, p), cudasim.Config{Recovers: true})
			sim.Fault(test.fault)
			got, err := sums(t.Context(), d, p)
			require.NotEmpty(t, sim.Report().Struck)
			if test.again {
				require.NoError(t, err)
				p.check(t, got)
			} else {
				require.ErrorIs(t, err, sched.ErrDeviceLost)
				assert.ErrorContains(t, err, "try again")
			}
			sim.ClearFaults()
			got, err = sums(t.Context(), d, p)
			require.NoError(t, err, "the card has been reset")
			p.check(t, got)
			assert.EqualValues(t, 1, d.jobs.Stats().Losses)
		})
	}
}

func TestHostMemoryThatCannotBePinned(t *testing.T) {
	needsFaults(t)
	p := makeProven(t, synth.Dense(60, 3), 1)
	d, sim := open(t, streamingOptions(t, p), cudasim.Config{})
	sim.Fault(cudasim.Fault{Call: "cuMemHostRegister", Nth: 3, Code: 2})
	_, err := sums(t.Context(), d, p)
	require.ErrorContains(t, err, "cuMemHostRegister")
	assert.ErrorIs(t, err, srs.ErrMemory)
	assert.ErrorContains(t, err, "raise CUZK_VRAM_BUDGET")
	assert.ErrorContains(t, err, p.params.Name())
	sim.ClearFaults()
	got, err := sums(t.Context(), d, p)
	require.NoError(t, err)
	p.check(t, got)
}

// TestHostMemoryThatStaysPinned drops a set that the driver does not unpin: that
// is tried again when the context ends, and the set released only then.
func TestHostMemoryThatStaysPinned(t *testing.T) {
	needsFaults(t)
	p := makeProven(t, synth.Dense(60, 3), 1)
	require.NoError(t, p.params.Retain())
	d, sim := open(t, streamingOptions(t, p), cudasim.Config{})
	got, err := sums(t.Context(), d, p)
	require.NoError(t, err)
	p.check(t, got)
	sim.Fault(cudasim.Fault{Call: "cuMemHostUnregister", Nth: 2, Code: 999})
	d.Drop(p.params)
	require.NotEmpty(t, sim.Report().Struck)
	sim.ClearFaults()
	got, err = sums(t.Context(), d, p)
	require.NoError(t, err, "the set is used again")
	p.check(t, got)
	d.Drop(p.params)
	require.NoError(t, d.Close())
	require.NoError(t, p.params.Release())
	assert.Zero(t, registered.SetsKept())
}

// TestHostMemoryThatAnotherContextHasPinned finds a section registered already:
// so it would be if a registration outlived its context.
func TestHostMemoryThatAnotherContextHasPinned(t *testing.T) {
	p := makeProven(t, synth.Dense(60, 3), 1)
	d, _ := open(t, streamingOptions(t, p), cudasim.Config{})
	sections, err := p.params.Sections(t.Context())
	require.NoError(t, err)
	require.NoError(t, d.current.Load().Watch.Do(func(b *driver.Bound) error { return b.HostRegister(sections[2]) }))
	got, err := sums(t.Context(), d, p)
	require.NoError(t, err)
	p.check(t, got)
}

// TestTwoCardsReadOnePinnedSet closes the card that has pinned a set while the
// other goes on.
func TestTwoCardsReadOnePinnedSet(t *testing.T) {
	if onCard() {
		t.Skip("needs two cards")
	}
	p := makeProven(t, synth.Dense(200, 3), 1)
	o := streamingOptions(t, p)
	first, sim := open(t, o, cudasim.Config{Devices: 2})
	opened, err := NewProvider(o).Open(1)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, opened.Close()) })
	second := opened.(*device)
	for _, d := range []*device{first, second} {
		got, err := sums(t.Context(), d, p)
		require.NoError(t, err)
		p.check(t, got)
		requireStreamed(t, d, 1)
	}
	assert.EqualValues(t, 5, sim.Report().Calls["cuMemHostRegister"], "each section once for both")
	assert.EqualValues(t, p.params.PointBytes(), first.Stats().HostSetBytes)
	assert.Zero(t, second.Stats().HostSetBytes)
	var group sync.WaitGroup
	for range 2 {
		group.Go(func() {
			for range 2 {
				got, err := sums(t.Context(), second, p)
				if assert.NoError(t, err) {
					p.check(t, got)
				}
			}
		})
	}
	require.NoError(t, first.Close())
	group.Wait()
	got, err := sums(t.Context(), second, p)
	require.NoError(t, err)
	p.check(t, got)
	assert.EqualValues(t, p.params.PointBytes(), second.Stats().HostSetBytes)
}

// TestTilesCrossTheBusUnderKernels looks at the timeline: while one tile is
// added, the next one is copied.
func TestTilesCrossTheBusUnderKernels(t *testing.T) {
	if onCard() {
		t.Skip("the virtual clock is the simulator's")
	}
	p := makeProven(t, synth.Dense(1000, 3), 1)
	o := streamingOptions(t, p)
	d, sim := open(t, o, cudasim.Config{Trace: true})
	got, err := sums(t.Context(), d, p)
	require.NoError(t, err)
	p.check(t, got)
	trace := sim.Report().Trace
	tiles, beside := 0, 0
	for _, copied := range trace {
		if !strings.HasPrefix(copied.Name, "upload of 9600 bytes") { // 100 points
			continue
		}
		tiles++
		for _, k := range trace {
			if strings.HasPrefix(k.Name, "cuzk_") && k.Stream != copied.Stream && k.StartNS < copied.EndNS && copied.StartNS < k.EndNS {
				beside++
				break
			}
		}
	}
	assert.Equal(t, 1023/100, tiles)
	assert.GreaterOrEqual(t, beside, tiles-2, "the first may have nothing beside it")
}
