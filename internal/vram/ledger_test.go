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
	require.Error(t, l.Check(Need{Set: NewSet("p", mib)}), "no blocks")
	require.Error(t, l.Check(Need{Set: NewSet("p", 0), Resident: rows(1)}), "an empty set")
	var tooLarge *TooLargeError
	require.ErrorAs(t, l.Check(Need{Set: NewSet("p", 8*mib), Resident: rows(4, 4, 4)}), &tooLarge)
	require.Equal(t, uint64(20*mib), tooLarge.NeedBytes)
	require.NoError(t, l.Check(Need{Set: NewSet("p", 80*mib), Resident: rows(4), Streaming: rows(4, 4, 4)}), "it can stream")
}

// walk is a ledger with needs, tickets and a load, moved at random.
type walk struct {
	t     *testing.T
	rng   *rand.Rand
	l     *Ledger
	sets  []*Set
	needs []Need // usable ones
	held  []*ticket
	load  *Need // under way
	marks []*Mark
	seq   uint64
}

type ticket struct {
	c       *Claim
	yielded bool
}

func newWalk(t *testing.T, seed uint64) *walk {
	w := &walk{t: t, rng: rand.New(rand.NewPCG(9, seed))}
	for i := range 3 {
		w.sets = append(w.sets, NewSet(fmt.Sprint(i), uint64(1+w.rng.IntN(12))*mib))
	}
	var budget uint64
	for range 5 {
		n := w.need()
		budget = max(budget, min(n.peakResident(), n.peakStreaming()))
		w.needs = append(w.needs, n)
	}
	if w.rng.IntN(2) == 0 {
		budget += uint64(w.rng.IntN(16)) * mib
	}
	w.l = ledger(t, budget)
	for i, n := range w.needs {
		require.NoError(t, w.l.Check(n))
		w.needs[i] = w.l.Usable(n)
	}
	return w
}

// need is a random one, in one tier or both.
func (w *walk) need() Need {
	size := uint64(mib) << w.rng.IntN(4)
	n := Need{Resident: []Request{{Bytes: size}, {Bytes: size}, {Bytes: size, Late: 1}, {Bytes: 1 + w.rng.Uint64N(size), Exact: true}}}
	if w.rng.IntN(3) == 0 {
		return n
	}
	n.Set = w.sets[w.rng.IntN(len(w.sets))]
	switch streaming := append(slices.Clone(n.Resident), Request{Bytes: 1 + w.rng.Uint64N(2*size), Exact: true}); w.rng.IntN(3) {
	case 0:
		n.Streaming = streaming
	case 1:
		n.Resident, n.Streaming = nil, streaming
	}
	return n
}

func (w *walk) mark() *Mark {
	w.seq++
	m := &Mark{Seq: w.seq}
	w.marks = append(w.marks, m)
	return m
}

// endOldest ends the oldest ticket, as the turns have it.
func (w *walk) endOldest() {
	c := w.held[0].c
	w.held = w.held[1:]
	m := w.mark()
	handOn(w.l, c, m)
	if c.Set != nil {
		f := &Fence{}
		f.Record([]*Mark{m})
		w.l.Unpin(c.Set, f)
	}
}

func (w *walk) endLoad(ok bool) {
	s := w.load.Set
	w.load = nil
	if !ok {
		w.l.CancelLoad(s, []*Mark{w.mark()})
		return
	}
	for _, f := range s.before {
		for _, m := range f.marks {
			m.Done = true
		}
	}
	w.l.EndLoad(s)
}

// loaded are the sets that are resident.
func (w *walk) loaded() (resident []*Set) {
	for _, s := range w.sets {
		if s.Loaded() {
			resident = append(resident, s)
		}
	}
	return resident
}

func (w *walk) step() {
	n := w.needs[w.rng.IntN(len(w.needs))]
	switch w.rng.IntN(8) {
	case 0, 1:
		before, alone := w.loaded(), w.l.Holds() == 0
		c, ok := w.l.Claim(n)
		if !ok && (!alone || n.Streaming != nil || n.Set == nil) || !alone {
			require.Equal(w.t, before, w.loaded(), "a set goes only for a ticket that is alone, and that then fits")
		}
		if ok {
			require.True(w.t, c.Set == nil || c.Set.Loaded(), "what is claimed is loaded")
			w.held = append(w.held, &ticket{c: c})
		}
	case 2:
		if len(w.held) > 0 && !w.held[0].yielded {
			w.held[0].yielded = true
			for _, h := range w.held[0].c.Blocks {
				w.l.Yield(h)
			}
		}
	case 3:
		if len(w.held) > 0 && w.held[0].yielded {
			w.endOldest()
		}
	case 4:
		if len(w.marks) > 0 {
			w.marks[0].Done = true
			w.marks = w.marks[1:]
		}
	case 5:
		if w.load == nil && n.Set != nil && w.l.BeginLoad(n, w.rng.IntN(2) == 0) {
			w.load = &n
		}
	case 6:
		if w.load != nil {
			w.endLoad(w.rng.IntN(3) > 0)
		}
	case 7:
		if s := w.sets[w.rng.IntN(len(w.sets))]; w.rng.IntN(8) == 0 {
			w.l.Evict(s)
		} else {
			w.l.Await(s, w.rng.IntN(2) == 0)
		}
	}
	require.NoError(w.t, w.l.Audit())
}

// granted sees that n is granted to a ticket that is the earliest and alone, once
// a load has been called off if it is in the way, and n's set has been loaded if
// that is away.
func (w *walk) granted(n Need) {
	fits := w.load != nil && w.l.FitsBeside(n, w.load.Set)
	c, ok := w.l.Claim(n)
	if fits {
		require.True(w.t, ok, "it fits beside the load")
	}
	if !ok && w.load != nil {
		w.endLoad(false)
		c, ok = w.l.Claim(n)
	}
	if !ok {
		require.True(w.t, w.l.Away(n), "nothing else is waited for")
		for _, s := range w.sets {
			w.l.Await(s, false)
		}
		require.True(w.t, w.l.BeginLoad(n, true), "room for its set")
		require.NoError(w.t, w.l.Audit())
		w.l.EndLoad(n.Set)
		c, ok = w.l.Claim(n)
	}
	require.True(w.t, ok, "alone on the device")
	require.NoError(w.t, w.l.Audit())
	w.held = append(w.held, &ticket{c: c})
}

// TestLedgerRandomWalk claims, yields, hands on, loads and evicts at random.
// Every step is audited, and whenever nobody holds anything a random need of
// those that Check has admitted is granted, whatever lies where: free bytes that
// cannot be claimed would show here, and a need that Check should have refused.
func TestLedgerRandomWalk(t *testing.T) {
	for seed := range uint64(200) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			w := newWalk(t, seed)
			for range 400 {
				w.step()
				if len(w.held) == 0 {
					w.granted(w.needs[w.rng.IntN(len(w.needs))])
				}
			}
		})
	}
}

// TestCheckRefusesWhatIsNeverGranted tries random needs against random budgets:
// what Check refuses is not granted on an empty device either.
func TestCheckRefusesWhatIsNeverGranted(t *testing.T) {
	refused := 0
	for seed := range uint64(500) {
		w := newWalk(t, seed)
		w.l = ledger(t, uint64(2+w.rng.IntN(48))*mib)
		n := w.need()
		err := w.l.Check(n)
		if err == nil {
			w.granted(w.l.Usable(n))
			continue
		}
		refused++
		_, ok := w.l.Claim(n)
		require.False(t, ok, "%v", err)
		if n.Set != nil && n.Resident != nil && w.l.BeginLoad(n, true) {
			w.l.EndLoad(n.Set)
			_, ok = w.l.Claim(n)
			require.False(t, ok, "%v", err)
		}
	}
	require.Greater(t, refused, 50)
	require.Less(t, refused, 450)
}
