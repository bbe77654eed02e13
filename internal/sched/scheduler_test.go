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

const mib = 1 << 20

// bench is a Scheduler on a simulated device, inside a synctest bubble.
type bench struct {
	*Scheduler
	t   *testing.T
	dev *simDevice
}

func newBench(t *testing.T, budget uint64, change ...func(*Config)) *bench {
	cfg := Config{Budget: budget, Chunk: 2 * mib, Pause: time.Sleep}
	for _, c := range change {
		c(&cfg)
	}
	b := &bench{t: t, dev: newSimDevice(budget)}
	var err error
	b.Scheduler, err = New(b.dev, cfg)
	require.NoError(t, err)
	b.audit = func() {
		if err := b.ledger.Audit(); err != nil {
			b.dev.breakf("%v", err)
		}
	}
	return b
}

// isLoaded reports whether set is in VRAM now.
func (b *bench) isLoaded(set *vram.Set) bool {
	b.mem.Lock()
	defer b.mem.Unlock()
	return set.Loaded()
}

// close checks that nothing is left and that every promise was kept.
func (b *bench) close() {
	b.t.Helper()
	require.NoError(b.t, b.Close(context.Background()))
	st := b.Stats()
	require.Zero(b.t, st.Outstanding)
	require.Zero(b.t, st.Held)
	if b.Lost() == nil {
		require.Zero(b.t, st.Mapped, "memory mapped at the end")
		require.Empty(b.t, b.dev.events, "events not given back")
	}
	require.Empty(b.t, b.dev.broken)
}

// blocks asks for n blocks of size bytes in both tiers.
func blocks(n int, size uint64) vram.Need {
	r := make([]vram.Request, n)
	for i := range r {
		r[i].Bytes = size
	}
	return vram.Need{Resident: r}
}

// simJob is a job of a, b and c: a and b are copied, c is computed, b and c
// are handed on early, a is used to the end.
type simJob struct {
	dev                      *simDevice
	copyTime                 time.Duration // of a, and of b
	product, subtract, lasts time.Duration
	tiles                    int                   // in the streaming tier, of h
	tileTime                 time.Duration         // to copy one
	fail                     func(at string) error // nil: never
}

func (j simJob) at(place string) error {
	if j.fail == nil {
		return nil
	}
	return j.fail(place)
}

func (j simJob) upload(ctx context.Context, t *Ticket) error {
	if err := j.at("upload begins"); err != nil {
		return err
	}
	n := int64(t.Number())
	for i := range min(2, len(t.blocks)) {
		const pieces = 4
		for range pieces {
			err := t.Enqueue(ctx, Upload, func() error {
				return j.dev.work(n, Upload, j.copyTime/pieces, true, t.Block(i))
			}, i)
			if err != nil {
				return err
			}
			if err := j.at("between pieces"); err != nil {
				return err
			}
		}
	}
	return j.at("upload ends")
}

func (j simJob) compute(ctx context.Context, t *Ticket) error {
	n := int64(t.Number())
	kernel := func(dur time.Duration, use ...int) error {
		return t.Enqueue(ctx, Compute, func() error {
			var on []vram.Block
			for _, i := range use {
				on = append(on, t.Block(i))
			}
			return errors.Join(j.at("under the compute lock"), j.dev.work(n, Compute, dur, false, on...))
		}, use...)
	}
	if len(t.blocks) < 3 {
		return kernel(j.lasts, 0)
	}
	var scratch []int // touched by kernels only, wherever copies ran before
	if len(t.blocks) > 3 {
		scratch = []int{3}
	}
	last := func() error { return kernel(j.lasts, 0) }
	switch {
	case t.set != nil:
		last = func() error { return kernel(j.lasts, 0, ParamSet) }
	case !t.Resident():
		last = func() error { return j.stream(ctx, t, kernel) }
	}
	for _, step := range []func() error{
		func() error { return j.at("compute begins") },
		func() error { return kernel(j.product, 0, 1) },
		func() error { return t.HandOn(1) },
		func() error { return j.at("one block handed on") },
		func() error { return kernel(j.subtract, append([]int{0, 2}, scratch...)...) },
		func() error { return t.HandOn(2) },
		last,
		func() error { return j.at("compute ends") },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// stream is the h sum in the streaming tier: two tiles in turn, each copied
// when the kernel that last used its place is done, in block tileBlock.
func (j simJob) stream(ctx context.Context, t *Ticket, kernel func(time.Duration, ...int) error) error {
	const slots, tileBlock = 2, 4
	var free [slots]*Mark
	for i := range j.tiles {
		slot := i % slots
		if free[slot] != nil {
			if err := t.Await(ctx, free[slot]); err != nil {
				return err
			}
		}
		place := t.Block(tileBlock)
		place.Bytes /= slots
		place.Offset += uint64(slot) * place.Bytes
		err := t.Enqueue(ctx, Tiles, func() error {
			return j.dev.work(int64(t.Number()), Tiles, j.tileTime, true, place)
		}, tileBlock)
		if err != nil {
			return err
		}
		copied, err := t.Record(Tiles)
		if err != nil {
			return err
		}
		if err := j.at("a tile without its kernel"); err != nil {
			return err
		}
		if err := t.Order(Compute, copied); err != nil {
			return err
		}
		if err := kernel(j.lasts/time.Duration(j.tiles), 0, tileBlock); err != nil {
			return err
		}
		if free[slot], err = t.Record(Compute); err != nil {
			return err
		}
	}
	return nil
}

// fill loads a set in four pieces, as long as the copy of a.
func (j simJob) fill(ctx context.Context, l *Loading) error {
	const pieces = 4
	for range pieces {
		err := l.Enqueue(ctx, func() error {
			return j.dev.work(-1, Load, j.copyTime/pieces, true, l.Block())
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (j simJob) work() Work {
	return Work{
		Fill:    j.fill,
		Upload:  j.upload,
		Compute: j.compute,
		Finish: func(ctx context.Context, t *Ticket) error {
			if err := j.at("finish begins"); err != nil {
				return err
			}
			// Nothing of the job is left to wait for but its last kernel.
			return t.Await(ctx, t.last[Compute])
		},
	}
}

func (b *bench) job() simJob {
	return simJob{dev: b.dev, copyTime: 10 * time.Millisecond,
		product: 10 * time.Millisecond, subtract: 5 * time.Millisecond, lasts: 60 * time.Millisecond}
}

func TestRunOneJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 12*mib)
		var stages []string
		w := b.job().work()
		w.Stage = func(name string, _ float64) { stages = append(stages, name) }
		require.NoError(t, b.Run(t.Context(), blocks(3, 4*mib), w))
		require.Equal(t, []string{"claim", "upload", "compute", "finish"}, stages)
		require.InDelta(t, 95, b.dev.now().Milliseconds(), 2)
		b.close()
	})
}

// TestUploadsOverlapKernels is what the two locks are for: with memory for
// exactly one job, the next one's a and b are copied while h is computed.
func TestUploadsOverlapKernels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 12*mib)
		// The ledger has to know which blocks come back first: those are the
		// ones that the next job copies into.
		need := blocks(3, 4*mib)
		need.Resident[0].Late, need.Resident[2].Late = 2, 1
		const jobs = 20
		var wg sync.WaitGroup
		slots := make(chan struct{}, 2)
		for range jobs {
			wg.Go(func() {
				slots <- struct{}{}
				defer func() { <-slots }()
				if err := b.Run(t.Context(), need, b.job().work()); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		// One upload, then kernels without a gap. Without overlap it would be
		// jobs*(20+75).
		require.InDelta(t, 20+jobs*75, b.dev.now().Milliseconds(), 10)
		b.close()
	})
}

func TestRunRefusesWhatCanNeverFit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 12*mib)
		err := b.Run(t.Context(), blocks(4, 4*mib), Work{})
		var tooLarge *vram.TooLargeError
		require.ErrorAs(t, err, &tooLarge)
		require.Equal(t, vram.TooLargeError{NeedBytes: 16 * mib, BudgetBytes: 12 * mib}, *tooLarge)
		require.EqualError(t, err, "vram: job needs 16777216 bytes (0.02 GiB) of device memory at its peak, the budget is 12582912 bytes (0.01 GiB)")
		b.close()
	})
}
