package sched

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/internal/vram"
)

// fillIn fills a set in ten pieces that take d in all, as fast as they are copied.
func (b *bench) fillIn(d time.Duration) Fill {
	return func(ctx context.Context, l *Loading) error {
		const pieces = 10
		for range pieces {
			err := l.Enqueue(ctx, func() error { return b.dev.work(-1, Load, d/pieces, false, l.Block()) })
			if err != nil {
				return err
			}
			m, err := l.Record()
			if err != nil {
				return err
			}
			if err := l.Await(ctx, m); err != nil {
				return err
			}
		}
		return nil
	}
}

// setNeed is the need of a partition of one block that cannot stream.
func setNeed(set *vram.Set, block uint64) vram.Need {
	n := blocks(1, block)
	n.Set = set
	return n
}

// kernel is a partition of one kernel on its first block, and its set if it has
// one.
func (b *bench) kernel(d time.Duration) Work {
	return Work{Compute: func(ctx context.Context, t *Ticket) error {
		use := []int{0}
		if t.set != nil {
			use = append(use, ParamSet)
		}
		return t.Enqueue(ctx, Compute, func() error {
			var on []vram.Block
			for _, i := range use {
				on = append(on, t.Block(i))
			}
			return b.dev.work(int64(t.Number()), Compute, d, false, on...)
		}, use...)
	}}
}

// nothingLoaded checks that no set has a place, and that no load is under way.
func (b *bench) nothingLoaded(sets ...*vram.Set) {
	b.t.Helper()
	for _, s := range sets {
		require.False(b.t, b.isLoaded(s), s.Name())
	}
	require.Zero(b.t, b.Stats().Sets)
	b.mem.Lock()
	defer b.mem.Unlock()
	require.Empty(b.t, b.loads)
}

// TestPartitionsGoOnBesideALoad is what a load in the background is for: with one
// worker, partitions of other sets and of none end while a long load is under way
// that another partition waits for.
func TestPartitionsGoOnBesideALoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 64*mib)
		long, short := vram.NewSet("long", 16*mib), vram.NewSet("short", 4*mib)
		require.NoError(t, b.Load(t.Context(), setNeed(short, mib), b.fillIn(0)))
		queue := NewQueue[vram.Need]()
		var mu sync.Mutex
		var order []string
		var left sync.WaitGroup
		pool := NewPool(queue, func(c *Carried, n vram.Need) {
			defer left.Done()
			w := b.kernel(100 * time.Millisecond)
			w.Fill = b.fillIn(24 * time.Second)
			w.Park = func(wait func() error) error { return c.Park(t.Context(), wait) }
			assert.NoError(t, b.Run(t.Context(), n, w))
			assert.Equal(t, 0, c.Worker(), "the one worker carries it")
			mu.Lock()
			defer mu.Unlock()
			name := "none"
			if n.Set != nil {
				name = n.Set.Name()
			}
			order = append(order, fmt.Sprintf("%s after %v", name, b.dev.now().Round(time.Second/10)))
		})
		for _, n := range []vram.Need{setNeed(long, mib), setNeed(short, mib), blocks(1, mib), setNeed(long, mib)} {
			left.Add(1)
			_, err := queue.Push(n, Normal)
			require.NoError(t, err)
		}
		pool.SetWorkers(1)
		left.Wait()
		require.Equal(t, []string{"short after 100ms", "none after 200ms", "long after 24.1s", "long after 24.2s"}, order)
		pool.Close()
		b.close()
	})
}

// TestPartitionsShareALoad lets several want one set, some of which are cancelled
// meanwhile.
func TestPartitionsShareALoad(t *testing.T) {
	for name, c := range map[string]struct {
		cancelled []bool
		loads     int
	}{
		"all wait":               {[]bool{false, false, false}, 1},
		"the first is cancelled": {[]bool{true, false, false}, 1},
		"the last is cancelled":  {[]bool{false, false, true}, 1},
		"all are cancelled":      {[]bool{true, true, true}, 1},
	} {
		for _, call := range []string{"Run", "Load"} {
			t.Run(call+": "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					b := newBench(t, 64*mib)
					set := vram.NewSet("set", 16*mib)
					loads, ok := 0, false
					fill := func(ctx context.Context, l *Loading) error {
						loads++
						return b.fillIn(10*time.Second)(ctx, l)
					}
					var group sync.WaitGroup
					for _, cancelled := range c.cancelled {
						ok = ok || !cancelled
						ctx, cancel := context.WithCancel(t.Context())
						defer cancel()
						if cancelled {
							time.AfterFunc(5*time.Second, cancel)
						}
						group.Go(func() {
							var err error
							if call == "Load" {
								err = b.Load(ctx, setNeed(set, mib), fill)
							} else {
								w := b.kernel(time.Millisecond)
								w.Fill = fill
								err = b.Run(ctx, setNeed(set, mib), w)
							}
							if cancelled {
								assert.ErrorIs(t, err, context.Canceled)
								assert.Less(t, b.dev.now(), 6*time.Second, "it does not wait for the load")
							} else {
								assert.NoError(t, err)
							}
						})
						time.Sleep(time.Millisecond)
					}
					group.Wait()
					time.Sleep(2 * time.Second) // a piece, which ends a load that nobody wants
					require.Equal(t, 1, loads)
					if ok {
						require.True(t, b.isLoaded(set))
					} else {
						b.nothingLoaded(set)
						require.NoError(t, b.Load(t.Context(), setNeed(set, mib), fill), "it is loaded again when it is wanted")
						require.True(t, b.isLoaded(set))
					}
					b.close()
				})
			})
		}
	}
}

// TestALoadThatFailsAnywhere fails, panics and is cancelled before each piece, and
// at the end: its partitions fail with it, nothing is left, and the next load is
// not touched by it.
func TestALoadThatFailsAnywhere(t *testing.T) {
	const pieces = 3
	for way, fails := range map[string]func(cancel func()) error{
		"fails":        func(func()) error { return errOurs },
		"panics":       func(func()) error { panic("test: panics") },
		"is cancelled": func(cancel func()) error { cancel(); return nil },
	} {
		for at := range pieces + 1 {
			t.Run(fmt.Sprintf("%s at piece %d", way, at), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					b := newBench(t, 64*mib)
					set := vram.NewSet("set", 16*mib)
					ctx, cancel := context.WithCancel(t.Context())
					fill := func(ctx context.Context, l *Loading) error {
						for i := range pieces + 1 {
							if i == at {
								if err := fails(cancel); err != nil {
									return err
								}
								synctest.Wait()
							}
							if i == pieces {
								return nil
							}
							err := l.Enqueue(ctx, func() error { return b.dev.work(-1, Load, time.Second, true, l.Block()) })
							if err != nil {
								return err
							}
						}
						return nil
					}
					w := b.kernel(time.Millisecond)
					w.Fill = fill
					err := b.Run(ctx, setNeed(set, mib), w)
					switch way {
					case "fails":
						require.ErrorIs(t, err, errOurs)
					case "panics":
						require.ErrorContains(t, err, "BUG: sched: the load of set panicked: test: panics")
					default:
						require.ErrorIs(t, err, context.Canceled)
					}
					require.NoError(t, b.Run(t.Context(), blocks(1, 64*mib), b.kernel(time.Millisecond)), "all the memory, behind the load's copies")
					b.nothingLoaded(set)
					w.Fill = b.fillIn(time.Second)
					require.NoError(t, b.Run(t.Context(), setNeed(set, mib), w))
					b.close()
				})
			})
		}
	}
}

// TestALoadForPartitionsThatStream is begun in the background, beside them.
func TestALoadForPartitionsThatStream(t *testing.T) {
	stream := func(b *bench, n vram.Need) (resident bool) {
		w := b.kernel(time.Second)
		w.Fill = b.fillIn(10 * time.Second)
		compute := w.Compute
		w.Compute = func(ctx context.Context, t *Ticket) error {
			resident = t.Resident()
			return compute(ctx, t)
		}
		require.NoError(b.t, b.Run(b.t.Context(), n, w))
		return resident
	}
	need := func(set *vram.Set) vram.Need {
		return vram.Need{Set: set, Resident: blocks(1, 4*mib).Resident, Streaming: blocks(1, 4*mib).Resident}
	}

	t.Run("and goes on when they have ended", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, 16*mib)
			n := need(vram.NewSet("set", 8*mib))
			require.False(t, stream(b, n))
			require.Equal(t, time.Second, b.dev.now().Round(time.Second/10), "it does not wait for the load")
			time.Sleep(5 * time.Second)
			require.False(t, stream(b, n))
			time.Sleep(5 * time.Second)
			require.True(t, stream(b, n))
			b.close()
		})
	})

	t.Run("is joined by a partition that cannot stream", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, 16*mib)
			n := need(vram.NewSet("set", 8*mib))
			require.False(t, stream(b, n))
			n.Streaming = nil
			require.True(t, stream(b, n))
			require.Equal(t, 11*time.Second, b.dev.now().Round(time.Second/10))
			b.close()
		})
	})

	t.Run("gives its room to a ticket that needs it, and stays away for a while", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, 16*mib)
			n := need(vram.NewSet("set", 8*mib))
			require.False(t, stream(b, n))
			begin := b.dev.now()
			require.NoError(t, b.Run(t.Context(), blocks(1, 16*mib), b.kernel(time.Second)))
			require.Less(t, b.dev.now()-begin, 2500*time.Millisecond, "a piece of the load, and the kernel")
			b.nothingLoaded(n.Set)
			// The ticket that called it off has made the first claim.
			for range vram.UnusedAfter - 2 {
				require.False(t, stream(b, n))
				b.nothingLoaded(n.Set)
			}
			// It is kept away from its call-off on, or from its end, which may come later.
			for range 2 {
				require.False(t, stream(b, n))
			}
			time.Sleep(10 * time.Second)
			require.True(t, b.isLoaded(n.Set))
			b.close()
		})
	})

	t.Run("gives way to a load that a partition waits for", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, 64*mib)
			n := need(vram.NewSet("set", 8*mib))
			require.False(t, stream(b, n))
			other := setNeed(vram.NewSet("other", 8*mib), 4*mib)
			require.True(t, stream(b, other))
			require.Less(t, b.dev.now(), 14*time.Second)
			b.close()
		})
	})
}

// TestALoadIsNotKeptOut lets two workers use a set without end, which leaves no
// room for another one that a partition waits for. The load has its place after
// at most `patience` claims, and what is then outstanding.
func TestALoadIsNotKeptOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 16*mib)
		used, wanted := vram.NewSet("used", 10*mib), vram.NewSet("wanted", 10*mib)
		const workers = 2
		stop := make(chan struct{})
		var group sync.WaitGroup
		for range workers {
			group.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
						// The next one claims, and pins the set, while this one computes.
						w := holdFor(100 * time.Millisecond)
						w.Fill = b.fillIn(time.Second)
						assert.NoError(t, b.Run(t.Context(), setNeed(used, 2*mib), w))
					}
				}
			})
		}
		time.Sleep(5 * time.Second)
		for range 3 {
			before := b.claims()
			var at uint64
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			require.NoError(t, b.Load(ctx, setNeed(wanted, 2*mib), func(context.Context, *Loading) error {
				at = b.claims()
				return nil
			}))
			cancel()
			require.LessOrEqual(t, at-before, uint64(patience+workers))
			require.GreaterOrEqual(t, at-before, uint64(patience), "and not before")
			time.Sleep(5 * time.Second)
			require.True(t, b.isLoaded(used), "the others go on")
		}
		close(stop)
		group.Wait()
		b.close()
	})
}

func (b *bench) claims() uint64 {
	b.mem.Lock()
	defer b.mem.Unlock()
	return b.ledger.Clock()
}

// TestNobodyIsKeptOutBesideLoads uses two sets with room for one, and partitions
// that need all the memory, without end: each kind goes on.
func TestNobodyIsKeptOutBesideLoads(t *testing.T) {
	for workers := 1; workers <= 3; workers++ {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, 16*mib, func(c *Config) {
				c.Pause = func(time.Duration) { time.Sleep(10 * time.Millisecond) } // fewer steps
			})
			b.audit = nil
			needs := []vram.Need{
				setNeed(vram.NewSet("p", 10*mib), 2*mib), setNeed(vram.NewSet("q", 10*mib), 2*mib),
				blocks(1, 16*mib), blocks(1, mib),
			}
			var mu sync.Mutex
			ends := make([]int, len(needs))
			queue := NewQueue[int]()
			until := time.Now().Add(time.Minute)
			var left sync.WaitGroup
			pool := NewPool(queue, func(c *Carried, kind int) {
				defer left.Done()
				w := b.kernel(10 * time.Millisecond)
				w.Fill = b.fillIn(time.Second)
				w.Park = func(wait func() error) error { return c.Park(t.Context(), wait) }
				if !assert.NoError(t, b.Run(t.Context(), needs[kind], w)) || time.Now().After(until) {
					return
				}
				mu.Lock()
				defer mu.Unlock()
				ends[kind]++
				left.Add(1)
				_, err := queue.Push(kind, Normal)
				assert.NoError(t, err)
			})
			for kind := range needs {
				left.Add(1)
				_, err := queue.Push(kind, Normal)
				require.NoError(t, err)
			}
			pool.SetWorkers(workers)
			left.Wait()
			pool.Close()
			// A load takes a second, and each of the two sets has to be loaded again.
			for kind, n := range ends {
				require.Greater(t, n, 10, "kind %d of %v", kind, ends)
			}
			b.close()
		})
	}
}

// TestASetEvictedBeforeItsClaim sends its ticket back: it draws another one when
// the set is loaded again.
func TestASetEvictedBeforeItsClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 16*mib)
		set := vram.NewSet("set", 8*mib)
		n := setNeed(set, 4*mib)
		require.NoError(t, b.Load(t.Context(), n, b.fillIn(time.Second)))
		var group sync.WaitGroup
		run := func(n vram.Need) {
			group.Go(func() {
				w := holdFor(time.Second)
				w.Fill = b.fillIn(time.Second)
				assert.NoError(t, b.Run(t.Context(), n, w))
			})
			synctest.Wait()
		}
		run(blocks(1, 8*mib))  // pins nothing
		run(blocks(1, 16*mib)) // waits for it, and evicts the set
		run(n)
		require.Equal(t, 3, b.Stats().Outstanding)
		group.Wait()
		require.True(t, b.isLoaded(set))
		require.EqualValues(t, 3, b.Stats().Done)
		require.Zero(t, b.Stats().Failed)
		b.close()
	})
}

// TestALoadThatIsWaitedForGivesItsRoomOnce to a ticket that was drawn before it had
// its place: it takes its place again when the ticket has claimed, not before.
func TestALoadThatIsWaitedForGivesItsRoomOnce(t *testing.T) {
	for range 30 { // who wakes first is random
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, 16*mib)
			var loads atomic.Int64
			run := func(group *sync.WaitGroup, n vram.Need) {
				group.Go(func() {
					w := holdFor(0)
					w.Upload = func(context.Context, *Ticket) error { time.Sleep(time.Second); return nil }
					w.Fill = func(ctx context.Context, l *Loading) error {
						loads.Add(1)
						return b.fillIn(10*time.Second)(ctx, l)
					}
					assert.NoError(t, b.Run(t.Context(), n, w))
				})
				synctest.Wait()
			}
			var group sync.WaitGroup
			run(&group, blocks(1, 4*mib))
			run(&group, blocks(1, 16*mib))
			run(&group, setNeed(vram.NewSet("set", 8*mib), 4*mib))
			require.EqualValues(t, 1, loads.Load(), "beside the first, which the second waits for")
			group.Wait()
			require.EqualValues(t, 2, loads.Load())
			b.close()
		})
	}
}

// TestLostWhileLoading loses the device under a load: the reset waits until the
// load has left, and the set is loaded anew on demand.
func TestLostWhileLoading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 16*mib)
		set := vram.NewSet("set", 8*mib)
		n := setNeed(set, 4*mib)
		var filling atomic.Bool
		slow := func(ctx context.Context, l *Loading) error {
			filling.Store(true)
			defer filling.Store(false)
			err := l.Enqueue(ctx, func() error { return b.dev.work(-1, Load, time.Second, true, l.Block()) })
			<-ctx.Done()
			time.Sleep(time.Second) // reading a piece of the file
			return errors.Join(err, context.Cause(ctx))
		}
		var group sync.WaitGroup
		for range 2 {
			group.Go(func() {
				w := b.kernel(time.Second)
				w.Fill = slow
				assert.ErrorIs(t, b.Run(t.Context(), n, w), ErrDeviceLost)
			})
		}
		synctest.Wait()
		require.True(t, filling.Load())
		require.Error(t, b.Noted(ErrDeviceLost))
		renew := func() (Device, error) {
			assert.False(t, filling.Load(), "nothing of the load is under way")
			b.mem.Lock()
			assert.Empty(t, b.loads)
			b.mem.Unlock()
			assert.Zero(t, b.Stats().Sets, "its place is nobody's")
			b.dev.reset()
			return b.dev, nil
		}
		require.NoError(t, b.Recover(t.Context(), renew))
		group.Wait()
		w := b.kernel(time.Second)
		w.Fill = b.fillIn(time.Second)
		require.NoError(t, b.Run(t.Context(), n, w))
		b.close()
	})
}

// TestIdleWhileLoading gives nothing back under a load, nor what has just been
// loaded.
func TestIdleWhileLoading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const idleAfter = time.Second
		b := newBench(t, 16*mib, func(c *Config) { c.IdleAfter = idleAfter })
		set := vram.NewSet("set", 8*mib)
		for range 3 {
			fill := b.fillIn(10*idleAfter - time.Millisecond) // ends before a look
			ctx, cancel := context.WithTimeout(t.Context(), 12*idleAfter)
			require.NoError(t, b.Load(ctx, setNeed(set, 4*mib), fill))
			cancel()
			time.Sleep(idleAfter / 2)
			require.True(t, b.isLoaded(set))
			time.Sleep(3 * idleAfter)
			b.nothingLoaded(set)
			time.Sleep(idleAfter / 2)
		}
		b.close()
	})
}

func TestCloseWhileLoading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 16*mib)
		var group sync.WaitGroup
		for _, name := range []string{"p", "q"} {
			group.Go(func() {
				assert.ErrorIs(t, b.Load(t.Context(), setNeed(vram.NewSet(name, 8*mib), mib), b.fillIn(time.Minute)), ErrClosed)
			})
		}
		time.Sleep(time.Second)
		b.close()
		group.Wait()
		require.Less(t, b.dev.now(), 30*time.Second)
	})
}
