package vram

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

const mib = 1 << 20

func ledger(t *testing.T, bytes uint64) *Ledger {
	t.Helper()
	l, err := NewLedger(bytes, Granule)
	require.NoError(t, err)
	return l
}

func claim(t *testing.T, l *Ledger, n Need) *Claim {
	t.Helper()
	require.NoError(t, l.Check(n))
	c, ok := l.Claim(n)
	require.True(t, ok)
	require.NoError(t, l.Audit())
	return c
}

func mustWait(t *testing.T, l *Ledger, n Need) {
	t.Helper()
	require.NoError(t, l.Check(n))
	_, ok := l.Claim(n)
	require.False(t, ok)
	require.NoError(t, l.Audit())
}

// row asks for blocks of so many MiB.
func rows(sizes ...uint64) []Request {
	var r []Request
	for _, s := range sizes {
		r = append(r, Request{Bytes: s * mib})
	}
	return r
}

func handOn(l *Ledger, c *Claim, marks ...*Mark) {
	for _, h := range c.Blocks {
		l.HandOn(h, marks)
	}
}

func TestRequestSizes(t *testing.T) {
	for name, tc := range map[string]struct {
		r     Request
		bytes uint64
	}{
		"one byte":                       {Request{Bytes: 1}, 256},
		"a power of two times 32":        {Request{Bytes: 32 << 10}, 32 << 10},
		"one more":                       {Request{Bytes: 32<<10 + 1}, 64 << 10},
		"exact, to 256 bytes":            {Request{Bytes: 32<<10 + 1, Exact: true}, 32<<10 + 256},
		"the domain of 2^28":             {Request{Bytes: 32 << 28}, 8 << 30},
		"exact and a multiple of 256":    {Request{Bytes: 512, Exact: true}, 512},
		"exact scratch of 0.6 GiB or so": {Request{Bytes: 654_311_424, Exact: true}, 654_311_424},
	} {
		require.Equal(t, tc.bytes, tc.r.size(), name)
	}
}

func TestClaimIsAllOrNothing(t *testing.T) {
	l := ledger(t, 16*mib)
	claim(t, l, Need{Resident: rows(4, 4)})
	mustWait(t, l, Need{Resident: rows(4, 4, 4)})
	require.Equal(t, uint64(8*mib), l.Usage().Held)
}

func TestClaimTakesTheFencesAlong(t *testing.T) {
	l := ledger(t, 8*mib)
	first := claim(t, l, Need{Resident: rows(8)})
	m := &Mark{Seq: 1}
	handOn(l, first, m)

	second := claim(t, l, Need{Resident: rows(4, 4)})
	for _, h := range second.Blocks {
		require.Len(t, h.Before(), 1)
		require.False(t, h.Before()[0].Passed())
	}
	m.Done = true
	require.True(t, second.Blocks[0].Before()[0].Passed())
}

func TestClaimBehindAHolderInItsComputeTurn(t *testing.T) {
	l := ledger(t, 12*mib)
	n := Need{Resident: rows(4, 4, 4)}
	n.Resident[0].Late = 2
	n.Resident[2].Late = 1
	first := claim(t, l, n)
	mustWait(t, l, n)
	for _, h := range first.Blocks {
		l.Yield(h)
	}
	second := claim(t, l, n)
	a, b, c := first.Blocks[0].Block(), first.Blocks[1].Block(), first.Blocks[2].Block()
	require.Equal(t, []Block{b, c, a}, []Block{second.Blocks[0].Block(), second.Blocks[1].Block(), second.Blocks[2].Block()},
		"what is copied first gets what comes back first")
	require.False(t, second.Blocks[0].Before()[0].Recorded())
	mustWait(t, l, n)

	t.Run("a successor that leaves early passes all fences on", func(t *testing.T) {
		handOn(l, second)
		third := claim(t, l, n)
		m := &Mark{Seq: 1}
		handOn(l, first, m)
		require.Contains(t, third.Blocks[0].Before(), first.Blocks[1].fence)
		for _, h := range third.Blocks {
			passed := !slices.ContainsFunc(h.Before(), func(f *Fence) bool { return !f.Passed() })
			require.False(t, passed)
		}
		m.Done = true
		for _, h := range third.Blocks {
			require.False(t, slices.ContainsFunc(h.Before(), func(f *Fence) bool { return !f.Passed() }))
		}
	})
}

func TestASuccessorOfAnUntouchedBlockWaitsForTheOneBefore(t *testing.T) {
	l := ledger(t, 4*mib)
	n := Need{Resident: rows(4)}
	first := claim(t, l, n)
	running := &Mark{Seq: 1}
	handOn(l, first, running)
	second := claim(t, l, n)
	l.Yield(second.Blocks[0])
	third := claim(t, l, n)
	handOn(l, second) // never touched
	require.True(t, slices.ContainsFunc(third.Blocks[0].Before(), func(f *Fence) bool { return !f.Passed() }))
	running.Done = true
	require.False(t, slices.ContainsFunc(third.Blocks[0].Before(), func(f *Fence) bool { return !f.Passed() }))
}

func TestPoisonedBlocksAreNeverClaimed(t *testing.T) {
	l := ledger(t, 8*mib)
	c := claim(t, l, Need{Resident: rows(4)})
	l.Poison(c.Blocks[0])
	claim(t, l, Need{Resident: rows(4)})
	mustWait(t, l, Need{Resident: rows(4)})
	require.Empty(t, l.IdleChunks())
}

func recordedFence() *Fence {
	f := &Fence{}
	f.Record(nil)
	return f
}

func TestChunksComeAndGo(t *testing.T) {
	l, err := NewLedger(10*mib, 4*mib)
	require.NoError(t, err)
	require.Equal(t, []Block{{0, 4 * mib}, {4 * mib, 4 * mib}}, l.Unmapped(Block{2 * mib, 4 * mib}))
	require.Equal(t, []Block{{8 * mib, 2 * mib}}, l.Unmapped(Block{9 * mib, mib}), "the last one is shorter")
	c := claim(t, l, Need{Resident: rows(2)})
	l.SetMapped(Block{0, 4 * mib}, true)
	require.Equal(t, uint64(4*mib), l.Usage().Mapped)
	require.Empty(t, l.IdleChunks(), "held")
	m := &Mark{Seq: 1}
	handOn(l, c, m)
	require.Empty(t, l.IdleChunks(), "its last use still runs")
	m.Done = true
	require.Equal(t, []Block{{0, 4 * mib}}, l.IdleChunks())
	require.Panics(t, func() { l.SetMapped(Block{0, 4 * mib}, true) })
}

func TestNewLedgerRefuses(t *testing.T) {
	_, err := NewLedger(mib, Granule)
	require.EqualError(t, err, "vram: budget of 1048576 bytes, expected at least 2097152")
	_, err = NewLedger(64*mib, 3*mib)
	require.EqualError(t, err, "vram: chunk of 3145728 bytes, expected a multiple of 2097152")
}

func TestCheckRefuses(t *testing.T) {
	l := ledger(t, 16*mib)
	require.EqualError(t, l.Check(Need{Resident: []Request{{}}}), "vram: block of 0 bytes, expected 1 to 2^62")
	require.Error(t, l.Check(Need{Streaming: rows(1)}), "nothing to stream")
	var tooLarge *TooLargeError
	require.ErrorAs(t, l.Check(Need{Set: NewSet("p", 8*mib), Resident: rows(4, 4, 4)}), &tooLarge)
	require.Equal(t, uint64(20*mib), tooLarge.NeedBytes)
	require.NoError(t, l.Check(Need{Set: NewSet("p", 80*mib), Resident: rows(4), Streaming: rows(4, 4, 4)}), "it can stream")
}

// loaded are those of sets that are resident.
func loaded(sets []*Set) (resident []*Set) {
	for _, s := range sets {
		if s.Loaded() {
			resident = append(resident, s)
		}
	}
	return resident
}

// TestLedgerRandomWalk claims, yields, hands on and evicts at random. Every
// step is audited, and whenever nobody holds anything the largest job fits,
// whatever lies where: free bytes that cannot be claimed would show here.
func TestLedgerRandomWalk(t *testing.T) {
	for seed := range uint64(60) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(9, seed))
			var sets []*Set
			for i := range 3 {
				sets = append(sets, NewSet(fmt.Sprint(i), uint64(1+rng.IntN(12))*mib))
			}
			var needs []Need
			var budget uint64
			for range 5 {
				size := uint64(mib) << rng.IntN(4)
				n := Need{Resident: []Request{{Bytes: size}, {Bytes: size}, {Bytes: size, Late: 1}, {Bytes: 1 + rng.Uint64N(size), Exact: true}}}
				if rng.IntN(2) == 0 {
					n.Set = sets[rng.IntN(len(sets))]
					if rng.IntN(2) == 0 {
						n.Streaming = append(slices.Clone(n.Resident), Request{Bytes: size / 2, Exact: true})
						n.Fill = rng.IntN(2) == 0
					}
				}
				budget = max(budget, n.peak())
				needs = append(needs, n)
			}
			l := ledger(t, budget)
			type job struct {
				c       *Claim
				yielded bool
			}
			var jobs []*job
			var marks []*Mark
			seq := uint64(0)
			end := func() { // the oldest, as the turns have it
				j := jobs[0]
				jobs = jobs[1:]
				seq++
				m := &Mark{Seq: seq}
				marks = append(marks, m)
				handOn(l, j.c, m)
				if j.c.Set != nil {
					l.MarkLoaded(j.c.Set)
					f := &Fence{}
					f.Record([]*Mark{m})
					l.Unpin(j.c.Set, f)
				}
			}
			for range 400 {
				switch rng.IntN(5) {
				case 0, 1:
					held, resident := l.Holds() > 0, loaded(sets)
					c, ok := l.Claim(needs[rng.IntN(len(needs))])
					if !ok || held && c.Set == nil {
						require.Equal(t, resident, loaded(sets), "a set goes only for a job that is alone or loads its own")
					}
					if ok {
						jobs = append(jobs, &job{c: c})
					}
				case 2:
					if len(jobs) > 0 && !jobs[0].yielded {
						jobs[0].yielded = true
						for _, h := range jobs[0].c.Blocks {
							l.Yield(h)
						}
					}
				case 3:
					if len(jobs) > 0 && jobs[0].yielded {
						end()
					}
				case 4:
					if len(marks) > 0 {
						marks[0].Done = true
						marks = marks[1:]
					}
				}
				require.NoError(t, l.Audit())
				if len(jobs) == 0 {
					n := needs[rng.IntN(len(needs))]
					c, ok := l.Claim(n)
					require.True(t, ok, "alone on the device")
					jobs = append(jobs, &job{c: c})
				}
			}
		})
	}
}
