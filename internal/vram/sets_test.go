package vram

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// set takes so many MiB.
func set(name string, size uint64) *Set { return NewSet(name, size*mib) }

// load makes n's set resident.
func load(t *testing.T, l *Ledger, n Need) {
	t.Helper()
	require.True(t, l.BeginLoad(n))
	l.EndLoad(n.Set, true, nil)
	require.NoError(t, l.Audit())
}

// end is the end of a job that has loaded its set, if it was to.
func end(l *Ledger, c *Claim) {
	handOn(l, c)
	if c.Set != nil {
		l.MarkLoaded(c.Set)
		l.Unpin(c.Set, recordedFence())
	}
}

func TestSetsLieAtTheHighEnd(t *testing.T) {
	l := ledger(t, 32*mib)
	p, q := set("p", 5), set("q", 4)
	load(t, l, Need{Set: p, Resident: rows(4)})
	load(t, l, Need{Set: q, Resident: rows(4)})
	require.Equal(t, Block{26 * mib, 6 * mib}, p.Block())
	require.Equal(t, Block{22 * mib, 4 * mib}, q.Block())
}

func TestEviction(t *testing.T) {
	t.Run("a claim pins its set and a job without room waits instead of evicting it", func(t *testing.T) {
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
	})

	t.Run("the longest unused is evicted first, and no more than needed", func(t *testing.T) {
		l := ledger(t, 24*mib)
		p, q := set("p", 8), set("q", 8)
		for _, s := range []*Set{p, q} {
			n := Need{Set: s, Resident: rows(4)}
			load(t, l, n)
		}
		c := claim(t, l, Need{Set: p, Resident: rows(4)})
		handOn(l, c)
		l.Unpin(p, recordedFence())
		claim(t, l, Need{Resident: rows(8, 8)})
		require.True(t, p.Loaded())
		require.False(t, q.Loaded())
	})

	t.Run("a dropped set goes when it is no longer pinned", func(t *testing.T) {
		l := ledger(t, 16*mib)
		p := set("p", 8)
		n := Need{Set: p, Resident: rows(4)}
		load(t, l, n)
		c := claim(t, l, n)
		l.Drop(p)
		require.True(t, p.Loaded())
		handOn(l, c)
		l.Unpin(p, recordedFence())
		require.False(t, p.Loaded())
		require.Zero(t, l.Usage().Sets)
	})
}

func TestTierOfAJob(t *testing.T) {
	t.Run("a job that cannot stream gets a place to load into", func(t *testing.T) {
		l := ledger(t, 16*mib)
		p := set("p", 8)
		c := claim(t, l, Need{Set: p, Resident: rows(4)})
		require.Same(t, p, c.Set)
		require.False(t, p.Loaded())
		handOn(l, c)
		l.Unpin(p, recordedFence())
		require.Equal(t, uint64(0), l.Usage().Sets, "never filled, so given back")
	})

	t.Run("a job streams when its set is not resident", func(t *testing.T) {
		l := ledger(t, 16*mib)
		p := set("p", 64)
		c := claim(t, l, Need{Set: p, Resident: rows(4), Streaming: rows(4, 2)})
		require.Nil(t, c.Set)
		require.Len(t, c.Blocks, 2)
	})

	t.Run("a job of both tiers loads its set where there is room", func(t *testing.T) {
		l := ledger(t, 16*mib)
		n := Need{Set: set("p", 8), Resident: rows(4), Streaming: rows(4), Fill: true}
		require.True(t, l.Settles(n))
		c := claim(t, l, n)
		require.Same(t, n.Set, c.Set)
		end(l, c)
		require.True(t, n.Set.Loaded())
		require.True(t, l.Settles(n))
	})

	t.Run("a job streams where its set would leave no room for it", func(t *testing.T) {
		l := ledger(t, 16*mib)
		n := Need{Set: set("p", 10), Resident: rows(8), Streaming: rows(8), Fill: true}
		require.False(t, l.Settles(n))
		require.Nil(t, claim(t, l, n).Set)
	})

	t.Run("a job streams beside a set in use, and takes its place when it is no more", func(t *testing.T) {
		l := ledger(t, 16*mib)
		p := Need{Set: set("p", 10), Resident: rows(4), Streaming: rows(4), Fill: true}
		q := Need{Set: set("q", 10), Resident: rows(4), Streaming: rows(4), Fill: true}
		end(l, claim(t, l, p))
		for range PromoteAfter {
			require.False(t, l.Settles(q))
			c := claim(t, l, q)
			require.Nil(t, c.Set)
			end(l, c)
			require.True(t, p.Set.Loaded())
		}
		require.True(t, l.Settles(q))
		c := claim(t, l, q)
		require.Same(t, q.Set, c.Set)
		end(l, c)
		require.False(t, p.Set.Loaded())
	})

	t.Run("a set that leaves no room for its jobs is not made resident", func(t *testing.T) {
		l := ledger(t, 16*mib)
		require.False(t, l.BeginLoad(Need{Set: set("p", 10), Resident: rows(8), Streaming: rows(8)}))
	})
}

func TestSetsUsedInTurn(t *testing.T) {
	t.Run("two sets used in turn under a budget for one are not swapped", func(t *testing.T) {
		l := ledger(t, 16*mib)
		p, q := set("p", 10), set("q", 10)
		need := func(s *Set) Need { return Need{Set: s, Resident: rows(4), Streaming: rows(4)} }
		use := func(s *Set) {
			c := claim(t, l, need(s))
			handOn(l, c)
			if c.Set != nil {
				l.Unpin(s, recordedFence())
			}
		}
		load(t, l, need(p))
		for range 4 * PromoteAfter {
			use(p)
			use(q)
			require.False(t, l.BeginLoad(need(q)))
		}
		for range PromoteAfter - 1 { // the loop above ended with one use of q
			require.False(t, l.BeginLoad(need(q)))
			use(q)
		}
		load(t, l, need(q))
		require.False(t, p.Loaded())
	})

	t.Run("two sets used in turn under a budget for one are not swapped by their jobs", func(t *testing.T) {
		l := ledger(t, 16*mib)
		p := Need{Set: set("p", 10), Resident: rows(4), Streaming: rows(4), Fill: true}
		q := Need{Set: set("q", 10), Resident: rows(4), Streaming: rows(4), Fill: true}
		for range 4 * PromoteAfter {
			for _, n := range []Need{p, q} {
				end(l, claim(t, l, n))
			}
			require.True(t, p.Set.Loaded())
			require.False(t, q.Set.Loaded())
		}
	})

	t.Run("a set that had to go for a job that streams stays away for a while", func(t *testing.T) {
		l := ledger(t, 16*mib)
		p := Need{Set: set("p", 10), Resident: rows(4), Streaming: rows(4), Fill: true}
		q := Need{Set: set("q", 100), Streaming: rows(8, 4), Fill: true}
		loads := 0
		const rounds = 4 * PromoteAfter
		for range rounds {
			for _, n := range []Need{p, q} {
				c := claim(t, l, n)
				if c.Set != nil && !c.Set.Loaded() {
					loads++
				}
				end(l, c)
			}
		}
		require.LessOrEqual(t, loads, 2*rounds/PromoteAfter)
		require.Positive(t, loads)
	})
}

// unused makes claims that use no set.
func unused(t *testing.T, l *Ledger) {
	t.Helper()
	for range PromoteAfter {
		end(l, claim(t, l, Need{Resident: rows(1)}))
	}
}

func claims(l *Ledger) []uint64 { return slices.Clone(l.chunks.claims) }

func TestASetGoesOnlyForAJobThatThenFits(t *testing.T) {
	t.Run("beside a job that has what its blocks need", func(t *testing.T) {
		l := ledger(t, 16*mib)
		p, q := set("p", 10), set("q", 8)
		load(t, l, Need{Set: p, Resident: rows(4)})
		unused(t, l)
		holder := claim(t, l, Need{Resident: rows(2)})
		n := Need{Set: q, Resident: rows(8), Streaming: rows(1), Fill: true}
		require.True(t, l.Settles(n), "once nobody holds anything")
		c := claim(t, l, n)
		require.Nil(t, c.Set, "it streams")
		require.True(t, p.Loaded())
		end(l, holder)
		end(l, c)
		require.Same(t, q, claim(t, l, n).Set)
		require.False(t, p.Loaded())
	})

	t.Run("while another is being loaded, which is called off first", func(t *testing.T) {
		l := ledger(t, 16*mib)
		p, q := set("p", 4), set("q", 4)
		load(t, l, Need{Set: p, Resident: rows(1)})
		require.True(t, l.BeginLoad(Need{Set: q, Resident: rows(1)}))
		before := claims(l)
		mustWait(t, l, Need{Resident: rows(16)})
		require.True(t, p.Loaded())
		require.Equal(t, before, claims(l), "nothing has been claimed")
		l.EndLoad(q, false, nil)
		claim(t, l, Need{Resident: rows(16)})
		require.False(t, p.Loaded())
	})

	t.Run("not for one that can only load its set and has no room for its blocks", func(t *testing.T) {
		l := ledger(t, 16*mib)
		p, q := set("p", 4), set("q", 8)
		load(t, l, Need{Set: p, Resident: rows(1)})
		c := claim(t, l, Need{Resident: rows(4)})
		l.Poison(c.Blocks[0])
		before := claims(l)
		mustWait(t, l, Need{Set: q, Resident: rows(8)})
		require.True(t, p.Loaded())
		require.Zero(t, q.Block())
		require.Equal(t, before, claims(l))
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
		require.False(t, l.BeginLoad(Need{Set: q, Resident: rows(4)}))
		require.True(t, p.Loaded())
		c = claim(t, l, Need{Set: q, Resident: rows(4), Streaming: rows(4), Fill: true})
		require.Nil(t, c.Set)
		require.True(t, p.Loaded())
	})
}
