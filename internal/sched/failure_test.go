package sched

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/libcuzk/libcuzk/internal/vram"
	"github.com/stretchr/testify/require"
)

// places are where a simJob can fail, in the order in which it gets there.
var places = []string{
	"upload begins", "between pieces", "upload ends", "compute begins", "under the compute lock",
	"one block handed on", "compute ends", "finish begins",
}

// TestAFailureAnywhereGivesEverythingBack fails, cancels or panics one of
// three jobs at every place; the others, and one that comes later, are not
// touched by it.
func TestAFailureAnywhereGivesEverythingBack(t *testing.T) {
	ways := map[string]func(cancel func()) error{
		"fails":        func(func()) error { return errOurs },
		"panics":       func(func()) error { panic("test: panics") },
		"is cancelled": func(cancel func()) error { cancel(); return nil },
	}
	for way, end := range ways {
		for _, place := range places {
			t.Run("a job "+way+" where "+place, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					b := newBench(t, 12*mib)
					var wg sync.WaitGroup
					for i := range 3 {
						time.Sleep(time.Millisecond) // the order of tickets
						ctx, cancel := context.WithCancel(t.Context())
						j := b.job()
						if i == 1 {
							j.fail = func(at string) error {
								if at == place {
									return end(cancel)
								}
								return nil
							}
						}
						wg.Go(func() {
							err := b.Run(ctx, blocks(3, 4*mib), j.work())
							switch {
							case i != 1:
								if err != nil {
									t.Errorf("job %d: %v", i, err)
								}
							case err == nil:
								t.Error("no error")
							}
							cancel()
						})
					}
					wg.Wait()
					require.NoError(t, b.Run(t.Context(), blocks(3, 4*mib), b.job().work()))
					b.close()
				})
			})
		}
	}
}

// TestEachCallOfTheDeviceFails makes the n-th call fail, for every small n and
// ever fewer large ones until there is no n-th: the device is lost, its jobs say so, and after Recover it
// works again.
func TestEachCallOfTheDeviceFails(t *testing.T) {
	for _, call := range []string{"record", "poll", "wait", "map", "work"} {
		t.Run(call, func(t *testing.T) {
			failed := true
			n := 0
			for ; failed; n += 1 + n/16 {
				synctest.Test(t, func(t *testing.T) {
					b := newBench(t, 12*mib)
					countdown := n
					failed = false
					b.dev.fault = func(c string) error {
						if c != call {
							return nil
						}
						countdown--
						if countdown == -1 {
							failed = true
							return errSticky
						}
						return nil
					}
					var wg sync.WaitGroup
					for range 3 {
						wg.Go(func() {
							err := b.Run(t.Context(), blocks(3, 4*mib), b.job().work())
							if err != nil && (!errors.Is(err, ErrDeviceLost) || !errors.Is(err, errSticky)) {
								t.Errorf("%s %d: %v", call, n, err)
							}
						})
					}
					wg.Wait()
					b.dev.mu.Lock()
					b.dev.fault = nil
					b.dev.mu.Unlock()
					if failed {
						require.ErrorIs(t, b.Lost(), ErrDeviceLost)
						require.ErrorIs(t, b.Run(t.Context(), blocks(1, mib), Work{}), ErrDeviceLost)
						require.NoError(t, b.Recover(t.Context(), func() (Device, error) { b.dev.reset(); return b.dev, nil }))
					}
					require.NoError(t, b.Run(t.Context(), blocks(3, 4*mib), b.job().work()))
					b.close()
				})
			}
			require.Greater(t, n, 3, "calls of %s", call)
		})
	}
}

func TestRecover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 12*mib)
		never := func() (Device, error) { t.Error("renews a device that is not lost"); return nil, errOurs }
		require.NoError(t, b.Recover(t.Context(), never))

		set := vram.NewSet("set", 2*mib)
		n := vram.Need{Set: set, Resident: blocks(1, 4*mib).Resident}
		require.NoError(t, b.Run(t.Context(), n, b.job().work()))
		require.True(t, b.isLoaded(set))

		err := b.Run(t.Context(), n, Work{Compute: func(ctx context.Context, t *Ticket) error {
			return t.Enqueue(ctx, Compute, func() error { return ErrDeviceLost }, 0)
		}})
		require.ErrorIs(t, err, ErrDeviceLost)
		require.ErrorIs(t, b.Recover(t.Context(), func() (Device, error) { return nil, errOurs }), errOurs)
		require.Error(t, b.Lost(), "still lost")
		require.NoError(t, b.Recover(t.Context(), func() (Device, error) { b.dev.reset(); return b.dev, nil }))
		require.False(t, b.isLoaded(set))
		require.NoError(t, b.Run(t.Context(), n, b.job().work()), "loads its set again")
		b.close()
	})
}

// TestRecoverOutlivesAPanic lets several callers wait while the one that renews
// the device panics: the next of them tries again.
func TestRecoverOutlivesAPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 12*mib)
		require.ErrorIs(t, b.Noted(ErrDeviceLost), ErrDeviceLost)
		const callers = 3
		var mu sync.Mutex
		calls := 0
		renew := func() (Device, error) {
			time.Sleep(time.Second) // the others wait by then
			mu.Lock()
			defer mu.Unlock()
			if calls++; calls < callers {
				panic("test: panics")
			}
			b.dev.reset()
			return b.dev, nil
		}
		errs := make([]error, callers)
		var wg sync.WaitGroup
		for i := range callers {
			wg.Go(func() { errs[i] = b.Recover(t.Context(), renew) })
		}
		wg.Wait()
		panicked := 0
		for _, err := range errs {
			if err != nil {
				panicked++
				require.ErrorContains(t, err, "BUG: sched: the device's renewal panicked: test: panics")
			}
		}
		require.Equal(t, callers-1, panicked)
		require.Equal(t, callers, calls)
		require.NoError(t, b.Run(t.Context(), blocks(3, 4*mib), b.job().work()))
		b.close()
	})
}

// TestCloseAfterAPanicOfRecover waits for no recovery that has ended.
func TestCloseAfterAPanicOfRecover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 12*mib)
		require.ErrorIs(t, b.Noted(ErrDeviceLost), ErrDeviceLost)
		require.ErrorContains(t, b.Recover(t.Context(), func() (Device, error) { panic("test: panics") }), "BUG")
		require.ErrorIs(t, b.Lost(), ErrDeviceLost, "still lost")
		require.NoError(t, b.Close(t.Context()))
	})
}

func TestMemoryHeldElsewhere(t *testing.T) {
	t.Run("fails with the numbers", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, 12*mib)
			b.dev.steal(6 * mib)
			err := b.Run(t.Context(), blocks(3, 4*mib), b.job().work())
			require.ErrorIs(t, err, ErrNoMemory)
			require.ErrorContains(t, err, "with 6291456 bytes of a budget of 12582912 mapped")
			b.close()
		})
	})
}

func TestIdleMemoryGoesBackWhileOtherJobsCompute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 16*mib, func(c *Config) { c.IdleAfter = 200 * time.Millisecond })
		require.NoError(t, b.Run(t.Context(), blocks(2, 8*mib), b.job().work()))
		require.Equal(t, uint64(16*mib), b.Stats().Mapped)
		j := b.job()
		j.lasts = 2 * time.Second
		require.NoError(t, b.Run(t.Context(), blocks(3, 2*mib), Work{
			Upload:  j.upload,
			Compute: j.compute,
			Finish: func(context.Context, *Ticket) error {
				time.Sleep(time.Second)
				require.Equal(t, uint64(2*mib), b.Stats().Mapped, "where its last kernel still runs")
				return nil
			},
		}))
		time.Sleep(time.Second)
		require.Zero(t, b.Stats().Mapped)
		b.close()
	})
}

func TestPoolSetWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewQueue[int]()
		var mu sync.Mutex
		running, most := 0, 0
		count := func(by int) {
			mu.Lock()
			defer mu.Unlock()
			running += by
			most = max(most, running)
		}
		p := NewPool(q, func(*Carried, int) { count(1); time.Sleep(time.Second); count(-1) })
		for i := range 40 {
			_, err := q.Push(i, Normal)
			require.NoError(t, err)
		}
		at := func(want int) {
			t.Helper()
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			require.Equal(t, want, running)
		}
		p.SetWorkers(2)
		at(2)
		p.SetWorkers(4)
		at(4)
		p.SetWorkers(1)
		at(4) // they carry their jobs to the end
		time.Sleep(1100 * time.Millisecond)
		at(1)
		p.SetWorkers(-3)
		p.Close()
		p.SetWorkers(5)
		require.Equal(t, 4, most)
		require.NotEmpty(t, q.Close())
	})

	t.Run("going down and up while jobs run never makes more than the most set", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			q := NewQueue[int]()
			p := NewPool(q, func(*Carried, int) { time.Sleep(time.Second) })
			for i := range 400 {
				_, err := q.Push(i, Normal)
				require.NoError(t, err)
			}
			for range 20 {
				p.SetWorkers(16)
				synctest.Wait()
				require.Equal(t, 16, p.Live())
				p.SetWorkers(1)
				synctest.Wait()
				require.Equal(t, 16, p.Live(), "they still carry their jobs")
			}
			time.Sleep(1100 * time.Millisecond)
			require.Equal(t, 1, p.Live())
			p.SetWorkers(3)
			synctest.Wait()
			require.Equal(t, 3, p.Live())
			p.Close()
			require.Zero(t, p.Live())
		})
	})
}

func TestMisuseIsABug(t *testing.T) {
	nothing := func() error { return nil }
	for name, tc := range map[string]struct {
		work Work
		want string
	}{
		"a kernel in the upload turn": {Work{Upload: func(ctx context.Context, t *Ticket) error {
			return t.Enqueue(ctx, Compute, nothing, 0)
		}}, "enqueues on the compute stream in its upload stage"},
		"a copy in the compute turn": {Work{Compute: func(ctx context.Context, t *Ticket) error {
			return t.Enqueue(ctx, Upload, nothing, 0)
		}}, "enqueues on the upload stream in its compute stage"},
		"a block used after it was handed on": {Work{Compute: func(ctx context.Context, t *Ticket) error {
			return errors.Join(t.HandOn(0), t.Enqueue(ctx, Compute, nothing, 0))
		}}, "uses block 0 after handing it on"},
		"a block handed on twice": {Work{Compute: func(ctx context.Context, t *Ticket) error {
			return errors.Join(t.HandOn(0), t.HandOn(0))
		}}, "hands block 0 on twice"},
		"a block that the job has not": {Work{Upload: func(ctx context.Context, t *Ticket) error {
			return t.Enqueue(ctx, Upload, nothing, 7)
		}}, "index out of range"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, 12*mib)
				require.ErrorContains(t, b.Run(t.Context(), blocks(1, mib), tc.work), tc.want)
				require.NoError(t, b.Run(t.Context(), blocks(3, 4*mib), b.job().work()), "nobody else suffers")
				b.close()
			})
		})
	}
}

// TestKernelsWaitForAFailedJobsTile: a copy on another stream may be all that
// is left of a failed job on a block that the next job only computes on.
func TestKernelsWaitForAFailedJobsTile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 2*mib)
		on := func(ctx context.Context, t *Ticket, st Stream, d time.Duration) error {
			return t.Enqueue(ctx, st, func() error {
				return b.dev.work(int64(t.Number()), st, d, st == Tiles, t.Block(0))
			}, 0)
		}
		var wg sync.WaitGroup
		wg.Go(func() {
			_ = b.Run(t.Context(), blocks(1, 2*mib), Work{Compute: func(ctx context.Context, t *Ticket) error {
				return errors.Join(on(ctx, t, Tiles, time.Second), errOurs)
			}})
		})
		time.Sleep(time.Millisecond)
		require.NoError(t, b.Run(t.Context(), blocks(1, 2*mib), Work{Compute: func(ctx context.Context, t *Ticket) error {
			return on(ctx, t, Compute, time.Second)
		}}))
		wg.Wait()
		require.GreaterOrEqual(t, b.dev.now(), 2*time.Second)
		b.close()
	})
}

// TestACopyWaitsForTheJobBeforeOneThatTouchedNothing: a job may claim a block
// behind one that never uses it, while the one before that still does.
func TestACopyWaitsForTheJobBeforeOneThatTouchedNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 2*mib)
		work := func(st Stream) func(context.Context, *Ticket) error {
			return func(ctx context.Context, t *Ticket) error {
				return t.Enqueue(ctx, st, func() error {
					return b.dev.work(int64(t.Number()), st, time.Second, st == Upload, t.Block(0))
				}, 0)
			}
		}
		var wg sync.WaitGroup
		for _, w := range []Work{
			{Compute: work(Compute)},
			{Compute: func(context.Context, *Ticket) error { time.Sleep(100 * time.Millisecond); return nil }},
			{Upload: work(Upload)},
		} {
			wg.Go(func() {
				if err := b.Run(t.Context(), blocks(1, 2*mib), w); err != nil {
					t.Error(err)
				}
			})
			time.Sleep(time.Millisecond) // the order of tickets
		}
		wg.Wait()
		require.GreaterOrEqual(t, b.dev.now(), 2*time.Second)
		b.close()
	})
}
