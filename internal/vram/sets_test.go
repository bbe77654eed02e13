package vram

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// set describes a set of so many MiB.
func set(name string, size uint64) *Set { return NewSet(name, size*mib) }

// load loads n's set for partitions that wait for it.
func load(t *testing.T, l *Ledger, n Need) {
	t.Helper()
	require.True(t, l.BeginLoad(n, true))
	require.NoError(t, l.Audit())
	l.EndLoad(n.Set)
	require.NoError(t, l.Audit())
}

// end is the end of a ticket's use of all it has claimed.
func end(l *Ledger, c *Claim) {
	handOn(l, c)
	if c.Set != nil {
		l.Unpin(c.Set, recordedFence())
	}
}

// unused makes claims that use no set, until no set has been used.
func unused(t *testing.T, l *Ledger) {
	t.Helper()
	for range UnusedAfter {
		end(l, claim(t, l, Need{Resident: rows(1)}))
	}
}

func TestPlacesOfSets(t *testing.T) {
	l := ledger(t, 32*mib)
	p, q := set("p", 5), set("q", 4)
	load(t, l, Need{Set: p, Resident: rows(4)})
	load(t, l, Need{Set: q, Resident: rows(4)})
	require.Equal(t, Block{26 * mib, 6 * mib}, p.Block(), "at the high end, in whole granules")
	require.Equal(t, Block{22 * mib, 4 * mib}, q.Block(), "first fit")
}

func TestAClaimPinsItsSet(t *testing.T) {
	l := ledger(t, 16*mib)
	p := set("p", 8)
	n := Need{Set: p, Resident: rows(4)}
	load(t, l, n)
	c := claim(t, l, n)
	require.Same(t, p, c.Set)
	big := Need{Resident: rows(16)}
	mustWait(t, l, big)
	handOn(l, c)
	mustWait(t, l, big) // still pinned
	use, m := &Fence{}, &Mark{Seq: 1}
	use.Record([]*Mark{m})
	l.Unpin(p, use)
	got := claim(t, l, big)
	require.False(t, p.Loaded())
	require.Contains(t, got.Blocks[0].Before(), use, "evicted through its users' fences")
}

func TestTheLongestUnusedIsEvictedFirst(t *testing.T) {
	l := ledger(t, 24*mib)
	p, q := set("p", 8), set("q", 8)
	for _, s := range []*Set{p, q} {
		load(t, l, Need{Set: s, Resident: rows(4)})
	}
	end(l, claim(t, l, Need{Set: p, Resident: rows(4)}))
	c := claim(t, l, Need{Resident: rows(8, 8)})
	require.True(t, p.Loaded(), "no more go than needed")
	require.False(t, q.Loaded())
	end(l, c)

	t.Run("and those that are awaited last", func(t *testing.T) {
		load(t, l, Need{Set: q, Resident: rows(4)})
		end(l, claim(t, l, Need{Set: q, Resident: rows(4)}))
		l.Await(p, true)
		claim(t, l, Need{Resident: rows(8, 8)})
		require.True(t, p.Loaded())
		require.False(t, q.Loaded())
	})
}

// A set is never claimed before it is loaded.
func TestAClaimWithoutItsSet(t *testing.T) {
	t.Run("waits if it cannot stream", func(t *testing.T) {
		l := ledger(t, 16*mib)
		n := Need{Set: set("p", 8), Resident: rows(4)}
		mustWait(t, l, n)
		require.True(t, l.Away(n))
		require.True(t, l.BeginLoad(n, true))
		mustWait(t, l, n)
		require.True(t, l.Away(n), "it is on its way")
		l.EndLoad(n.Set)
		require.False(t, l.Away(n))
		require.Same(t, n.Set, claim(t, l, n).Set)
	})

	t.Run("streams if it can", func(t *testing.T) {
		l := ledger(t, 16*mib)
		n := Need{Set: set("p", 64), Resident: rows(4), Streaming: rows(4, 2)}
		require.False(t, l.Away(n))
		c := claim(t, l, n)
		require.Nil(t, c.Set)
		require.Len(t, c.Blocks, 2)
	})

	t.Run("streams beside its load", func(t *testing.T) {
		l := ledger(t, 16*mib)
		n := Need{Set: set("p", 8), Resident: rows(4), Streaming: rows(2, 1)}
		require.False(t, l.Away(n))
		require.True(t, l.BeginLoad(n, false))
		require.False(t, l.Away(n))
		require.Nil(t, claim(t, l, n).Set)
		l.EndLoad(n.Set)
		require.Same(t, n.Set, claim(t, l, n).Set)
	})

	t.Run("waits if there is room for the load and none to stream beside it", func(t *testing.T) {
		l := ledger(t, 16*mib)
		n := Need{Set: set("p", 10), Resident: rows(4), Streaming: rows(8)}
		require.True(t, l.Away(n))
		require.False(t, l.BeginLoad(n, false))
		require.True(t, l.BeginLoad(n, true))
		require.True(t, l.Away(n))
		l.EndLoad(n.Set)
		require.Same(t, n.Set, claim(t, l, n).Set)
	})

	t.Run("streams where its set would leave no room for it", func(t *testing.T) {
		l := ledger(t, 16*mib)
		n := Need{Set: set("p", 10), Resident: rows(8), Streaming: rows(8)}
		require.False(t, l.Settles(n))
		require.False(t, l.BeginLoad(n, false))
		require.Nil(t, claim(t, l, l.Usable(n)).Set)
	})
}

// TestALoadThatFails leaves nothing: its place is free behind its copies, and
// behind what it was itself placed on.
func TestALoadThatFails(t *testing.T) {
	l := ledger(t, 16*mib)
	running := &Mark{Seq: 1}
	first := claim(t, l, Need{Resident: rows(16)})
	handOn(l, first, running)
	n := Need{Set: set("p", 8), Resident: rows(4)}
	require.True(t, l.BeginLoad(n, true))
	require.Len(t, n.Set.Before(), 1)
	copies := &Mark{Seq: 2}
	l.CancelLoad(n.Set, []*Mark{copies})
	require.NoError(t, l.Audit())
	require.Zero(t, l.Usage().Sets)
	require.Zero(t, n.Set.Block())
	next := claim(t, l, Need{Resident: rows(16)})
	passed := func() bool {
		return !slices.ContainsFunc(next.Blocks[0].Before(), func(f *Fence) bool { return !f.Passed() })
	}
	require.False(t, passed())
	copies.Done = true
	require.False(t, passed(), "who had the place before still works there")
	running.Done = true
	require.True(t, passed())
}

func TestALoadThatCannotBeFencedPoisonsItsPlace(t *testing.T) {
	l := ledger(t, 16*mib)
	n := Need{Set: set("p", 8), Resident: rows(4)}
	require.True(t, l.BeginLoad(n, true))
	l.PoisonLoad(n.Set)
	require.NoError(t, l.Audit())
	require.Zero(t, l.Usage().Sets)
	mustWait(t, l, Need{Resident: rows(16)})
	claim(t, l, Need{Resident: rows(8)})
}

// Sets of partitions that can stream are not swapped at every partition.
func TestSetsInTurn(t *testing.T) {
	both := func(name string, size uint64) Need {
		return Need{Set: set(name, size), Resident: rows(4), Streaming: rows(4)}
	}
	// use is a partition that can stream, and the load that it begins.
	use := func(t *testing.T, l *Ledger, n Need) (loads bool) {
		t.Helper()
		c := claim(t, l, n)
		if loads = c.Set == nil && l.BeginLoad(n, false); loads {
			l.EndLoad(n.Set)
		}
		end(l, c)
		require.NoError(t, l.Audit())
		return loads
	}

	t.Run("a set is loaded where there is room", func(t *testing.T) {
		l := ledger(t, 16*mib)
		n := both("p", 8)
		require.True(t, l.Settles(n))
		require.True(t, use(t, l, n))
		require.True(t, l.Settles(n))
	})

	t.Run("the first stays, until it has not been used for a while", func(t *testing.T) {
		l := ledger(t, 16*mib)
		p, q := both("p", 10), both("q", 10)
		require.True(t, use(t, l, p))
		for range 4 * UnusedAfter {
			use(t, l, p)
			require.False(t, l.Settles(q))
			require.False(t, use(t, l, q))
			require.True(t, p.Set.Loaded())
		}
		for range UnusedAfter - 2 { // the loop above ended with one use of q
			require.False(t, use(t, l, q))
		}
		require.True(t, use(t, l, q))
		require.False(t, p.Set.Loaded())
	})

	t.Run("a set that was evicted for a partition that streams stays away for a while", func(t *testing.T) {
		l := ledger(t, 16*mib)
		p, q := both("p", 10), Need{Set: set("q", 100), Streaming: rows(8, 4)}
		loads := 0
		const rounds = 4 * UnusedAfter
		for range rounds {
			for _, n := range []Need{p, q} {
				if use(t, l, n) {
					loads++
				}
			}
		}
		require.LessOrEqual(t, loads, 2*rounds/UnusedAfter)
		require.Positive(t, loads)
	})

	t.Run("partitions that wait are not bound by that", func(t *testing.T) {
		l := ledger(t, 16*mib)
		p, q := both("p", 10), both("q", 10)
		load(t, l, p)
		use(t, l, p)
		load(t, l, q)
		require.False(t, p.Set.Loaded())
		require.False(t, l.BeginLoad(p, false))
		load(t, l, p)
	})

	t.Run("what is awaited goes for no load", func(t *testing.T) {
		l := ledger(t, 16*mib)
		p, q := both("p", 10), both("q", 10)
		load(t, l, p)
		l.Await(p.Set, true)
		unused(t, l)
		require.False(t, l.BeginLoad(q, true))
		require.False(t, l.BeginLoad(q, false))
		l.Await(p.Set, false)
		require.True(t, l.BeginLoad(q, false))
	})

	t.Run("a claim that is undone ages nothing", func(t *testing.T) {
		l := ledger(t, 16*mib)
		p, q := both("p", 10), both("q", 10)
		load(t, l, p)
		use(t, l, p)
		for range 4 * UnusedAfter {
			l.Unclaim(claim(t, l, p))
			l.Unclaim(claim(t, l, q))
			require.NoError(t, l.Audit())
		}
		require.False(t, l.Settles(q))
		require.Zero(t, l.Usage().Held)
	})
}

func TestASetGoesOnlyForATicketThatThenFits(t *testing.T) {
	claims := func(l *Ledger) (n []uint64) { return slices.Clone(l.chunks.claims) }

	t.Run("not while another is being loaded, which is called off first", func(t *testing.T) {
		l := ledger(t, 16*mib)
		p, q := set("p", 4), set("q", 4)
		load(t, l, Need{Set: p, Resident: rows(1)})
		require.True(t, l.BeginLoad(Need{Set: q, Resident: rows(1)}, true))
		before := claims(l)
		mustWait(t, l, Need{Resident: rows(16)})
		require.True(t, l.Alone(), "only the load is in the way")
		require.True(t, p.Loaded())
		require.Equal(t, before, claims(l), "nothing has been claimed")
		l.CancelLoad(q, nil)
		claim(t, l, Need{Resident: rows(16)})
		require.False(t, p.Loaded())
	})

	t.Run("not for a load that has no room for its partitions' blocks", func(t *testing.T) {
		l := ledger(t, 16*mib)
		p, q := set("p", 4), set("q", 8)
		n := Need{Set: p, Resident: rows(4)}
		load(t, l, n)
		claim(t, l, n)
		require.False(t, l.BeginLoad(Need{Set: q, Resident: rows(8)}, true))
		require.True(t, p.Loaded())
		require.Zero(t, q.Block())
	})

	t.Run("not where its own last use is unknown", func(t *testing.T) {
		l := ledger(t, 16*mib)
		p, q := set("p", 10), set("q", 10)
		n := Need{Set: p, Resident: rows(4)}
		load(t, l, n)
		c := claim(t, l, n)
		handOn(l, c)
		poisoned := &Fence{}
		poisoned.Poison()
		l.Unpin(p, poisoned)
		unused(t, l)
		for _, awaited := range []bool{false, true} {
			require.False(t, l.BeginLoad(Need{Set: q, Resident: rows(4), Streaming: rows(4)}, awaited))
			require.True(t, p.Loaded())
		}
	})

	t.Run("its own, if it can stream", func(t *testing.T) {
		l := ledger(t, 16*mib)
		n := Need{Set: set("p", 8), Resident: rows(8), Streaming: rows(1)}
		load(t, l, n)
		_ = claim(t, l, Need{Resident: rows(4)}).Blocks[0]
		mustWait(t, l, n)
		require.True(t, n.Set.Loaded())
	})
}

// TestASetInTheWay lies where a partition of its own finds no room beside it,
// though both fit: it is evicted, and loaded elsewhere.
func TestASetInTheWay(t *testing.T) {
	l := ledger(t, 32*mib)
	p := set("p", 4)
	upper := claim(t, l, Need{Resident: rows(16, 16)}).Blocks[1]
	require.EqualValues(t, 16*mib, upper.Block().Offset)
	for _, s := range l.spans {
		if s.hold != nil && s.hold != upper {
			l.HandOn(s.hold, nil)
			break
		}
	}
	load(t, l, Need{Set: p, Resident: rows(8)})
	require.EqualValues(t, 12*mib, p.Block().Offset, "below the block")
	l.HandOn(upper, nil)
	n := Need{Set: p, Resident: []Request{{Bytes: 20 * mib, Exact: true}}}
	mustWait(t, l, n)
	require.True(t, l.Away(n))
	load(t, l, n)
	claim(t, l, n)
}

func TestAnEvictedSetGoesWhenItIsNoLongerPinned(t *testing.T) {
	l := ledger(t, 16*mib)
	p := set("p", 8)
	n := Need{Set: p, Resident: rows(4)}
	load(t, l, n)
	c := claim(t, l, n)
	l.Evict(p)
	require.True(t, p.Loaded())
	end(l, c)
	require.False(t, p.Loaded())
	require.Zero(t, l.Usage().Sets)

	t.Run("also if it is being loaded", func(t *testing.T) {
		require.True(t, l.BeginLoad(n, true))
		l.Evict(p)
		l.EndLoad(p)
		require.False(t, p.Loaded())
		require.Zero(t, l.Usage().Sets)
	})
}
