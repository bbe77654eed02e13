package engine

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/engine/backend"
	"github.com/libcuzk/libcuzk/engine/groth16"
	"github.com/libcuzk/libcuzk/engine/gv"
	"github.com/libcuzk/libcuzk/tests/golden"
)

func goldenCase(t *testing.T, name string) golden.Case {
	t.Helper()
	c, err := golden.Named(name)
	require.NoError(t, err)
	return c
}

// bench is an engine over scripted devices with the parameters of a golden
// case open and one of its partitions at hand.
type bench struct {
	*Engine
	set  *SRS
	part Partition
}

func newBench(t *testing.T, cfg Config) *bench {
	t.Helper()
	e, err := New(cfg)
	require.NoError(t, err)
	t.Cleanup(func() { _ = e.Close() })
	set, part := openCase(t, e)
	return &bench{e, set, part}
}

func openCase(t *testing.T, e *Engine) (*SRS, Partition) {
	t.Helper()
	c := goldenCase(t, "two")
	set, err := e.OpenSRS(t.Context(), c.Params, SRSOptions{})
	require.NoError(t, err)
	f, err := gv.Read(c.Witnesses[0])
	require.NoError(t, err)
	return set, Partition{Assignment: &f.Assignment, R: f.R, S: f.S}
}

func (b *bench) start(t *testing.T, n int, opt ProveOptions) *Job {
	t.Helper()
	opt.SkipSelfCheck = true
	parts := make([]Partition, n)
	for i := range parts {
		parts[i] = b.part
	}
	j, err := b.Start(t.Context(), b.set, parts, opt)
	require.NoError(t, err)
	return j
}

func any1() ProveOptions { return DefaultProveOptions() }

// soon bounds a wait that must end; long enough for a busy machine.
func soon(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func TestJobOutcomes(t *testing.T) {
	t.Run("no partitions is done at once, with no proofs", func(t *testing.T) {
		b := newBench(t, Config{Providers: []backend.Provider{newScripted(backend.CPU, 1)}})
		j := b.start(t, 0, any1())
		proofs, err := j.Wait(soon(t))
		require.NoError(t, err)
		require.Empty(t, proofs)
		require.NoError(t, j.WaitRows(soon(t)))
	})

	t.Run("a failing partition stops the others and names itself", func(t *testing.T) {
		s := newScripted(backend.CPU, 1)
		var calls atomic.Int64
		s.script = func(ctx context.Context, _ *backend.Task) error {
			if calls.Add(1) == 2 {
				return errScripted
			}
			return untilCancelled(ctx, nil)
		}
		b := newBench(t, Config{Providers: []backend.Provider{s}, Workers: 3})
		j := b.start(t, 6, any1())
		_, err := j.Wait(soon(t))
		require.ErrorIs(t, err, errScripted)
		require.Regexp(t, `^partition [0-5]: `, err.Error())
		require.NoError(t, j.WaitRows(soon(t)))
		require.EqualValues(t, 0, b.devices[0].load.Load())
	})

	t.Run("a panic in the back end fails its partition alone", func(t *testing.T) {
		s := newScripted(backend.CPU, 1)
		var calls atomic.Int64
		s.script = func(context.Context, *backend.Task) error {
			if calls.Add(1) == 1 {
				panic("scripted panic")
			}
			return nil
		}
		b := newBench(t, Config{Providers: []backend.Provider{s}})
		_, err := b.start(t, 1, any1()).Wait(soon(t))
		require.ErrorIs(t, err, ErrInternal)
		require.Contains(t, err.Error(), "scripted panic")
		_, err = b.start(t, 1, any1()).Wait(soon(t))
		require.NoError(t, err)
	})

	t.Run("sums that belong to no proof are withheld by the self-check", func(t *testing.T) {
		b := newBench(t, Config{Providers: []backend.Provider{newScripted(backend.CPU, 1)}})
		_, err := b.Prove(t.Context(), b.set, b.part, any1())
		require.ErrorIs(t, err, ErrUnsatisfied)
	})

	t.Run("a device that does not open fails the job and is tried again", func(t *testing.T) {
		s := newScripted(backend.CUDA, 1)
		b := newBench(t, Config{Providers: []backend.Provider{newScripted(backend.CPU, 1), s}})
		opt := any1()
		opt.Device = 1
		s.openErr = errScripted
		_, err := b.start(t, 1, opt).Wait(soon(t))
		require.ErrorIs(t, err, errScripted)
		s.openErr = nil
		_, err = b.start(t, 1, opt).Wait(soon(t))
		require.NoError(t, err)
	})
}

func TestCancel(t *testing.T) {
	t.Run("a running job stops, a waiting one of the same engine goes on", func(t *testing.T) {
		s := newScripted(backend.CPU, 1)
		var calls atomic.Int64
		s.script = func(ctx context.Context, task *backend.Task) error {
			if calls.Add(1) == 1 {
				return untilCancelled(ctx, task)
			}
			return nil
		}
		b := newBench(t, Config{Providers: []backend.Provider{s}})
		first, second := b.start(t, 1, any1()), b.start(t, 1, any1())
		<-s.begun
		first.Cancel()
		_, err := first.Wait(soon(t))
		require.ErrorIs(t, err, ErrCancelled)
		_, err = second.Wait(soon(t))
		require.NoError(t, err)
	})

	t.Run("a job still in the queue answers while every worker is busy", func(t *testing.T) {
		s := newScripted(backend.CPU, 1)
		s.script = untilCancelled
		b := newBench(t, Config{Providers: []backend.Provider{s}})
		busy, waiting := b.start(t, 1, any1()), b.start(t, 3, any1())
		<-s.begun
		waiting.Cancel()
		_, err := waiting.Wait(soon(t))
		require.ErrorIs(t, err, ErrCancelled)
		require.NoError(t, waiting.WaitRows(soon(t)))
		require.EqualValues(t, 1, b.devices[0].load.Load())
		busy.Cancel()
		_, err = busy.Wait(soon(t))
		require.ErrorIs(t, err, ErrCancelled)
	})

	t.Run("the context of Prove cancels the job", func(t *testing.T) {
		s := newScripted(backend.CPU, 1)
		s.script = untilCancelled
		b := newBench(t, Config{Providers: []backend.Provider{s}})
		ctx, cancel := context.WithCancel(t.Context())
		go func() { <-s.begun; cancel() }()
		_, err := b.Prove(ctx, b.set, b.part, any1())
		require.ErrorIs(t, err, ErrCancelled)
		require.ErrorIs(t, err, context.Canceled)
	})

	t.Run("a wait that times out leaves the job alone", func(t *testing.T) {
		s := newScripted(backend.CPU, 1)
		release := make(chan struct{})
		s.script = func(context.Context, *backend.Task) error { <-release; return nil }
		b := newBench(t, Config{Providers: []backend.Provider{s}})
		j := b.start(t, 1, any1())
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		_, err := j.Wait(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		close(release)
		_, err = j.Wait(soon(t))
		require.NoError(t, err)
		_, err = j.Wait(ctx)
		require.NoError(t, err, "a finished job answers an expired context")
	})
}

func TestRowsAreReleasedBeforeTheEnd(t *testing.T) {
	s := newScripted(backend.CPU, 1)
	release := make(chan struct{})
	s.script = func(_ context.Context, task *backend.Task) error {
		task.RowsRead()
		<-release
		return nil
	}
	b := newBench(t, Config{Providers: []backend.Provider{s}, Workers: 2})
	j := b.start(t, 2, any1())
	require.NoError(t, j.WaitRows(soon(t)))
	select {
	case <-j.Done():
		t.Fatal("the job ended before it was let go")
	default:
	}
	close(release)
	_, err := j.Wait(soon(t))
	require.NoError(t, err)
}

func TestStagesOfEachPartition(t *testing.T) {
	s := newScripted(backend.CPU, 1)
	var calls atomic.Int64
	s.script = func(_ context.Context, task *backend.Task) error {
		task.Stage("sums", float64(calls.Add(1)))
		task.Stage("sums", 0.5)
		return nil
	}
	b := newBench(t, Config{Providers: []backend.Provider{s}, Workers: 1})
	j := b.start(t, 2, any1())
	_, err := j.Wait(soon(t))
	require.NoError(t, err)
	require.Equal(t, map[string]float64{"sums": 1.5}, j.Stages(0), "a stage that runs twice adds up")
	require.Equal(t, map[string]float64{"sums": 2.5}, j.Stages(1))
}

func TestPrioritiesOrderTheQueue(t *testing.T) {
	s := newScripted(backend.CPU, 1)
	hold := make(chan struct{})
	s.script = func(context.Context, *backend.Task) error { <-hold; return nil }
	b := newBench(t, Config{Providers: []backend.Provider{s}})
	jobs := []*Job{b.start(t, 1, any1())}
	<-s.begun // the only worker is busy, so what follows waits in the queue

	priorityOf := map[*Assignment]Priority{}
	for _, p := range []Priority{PriorityLow, PriorityDefault, PriorityHigh, PriorityCritical} {
		own := *b.part.Assignment
		priorityOf[&own] = p
		opt := any1()
		opt.Priority, opt.SkipSelfCheck = p, true
		j, err := b.Start(t.Context(), b.set, []Partition{{Assignment: &own}}, opt)
		require.NoError(t, err)
		jobs = append(jobs, j)
	}
	close(hold)
	var order []Priority
	for _, j := range jobs {
		_, err := j.Wait(soon(t))
		require.NoError(t, err)
	}
	for range jobs[1:] {
		order = append(order, priorityOf[(<-s.begun).Assignment])
	}
	require.Equal(t, []Priority{PriorityCritical, PriorityHigh, PriorityDefault, PriorityLow}, order)
}

func TestWorkers(t *testing.T) {
	s := newScripted(backend.CUDA, 1)
	hold := make(chan struct{})
	s.script = func(context.Context, *backend.Task) error { <-hold; return nil }
	b := newBench(t, Config{Providers: []backend.Provider{s}})
	const jobs = 12
	j := b.start(t, jobs, any1())
	for range defaultWorkersGPU {
		<-s.begun
	}
	require.Equal(t, defaultWorkersGPU, b.Devices()[0].Workers)

	require.NoError(t, b.SetWorkers(5))
	<-s.begun
	<-s.begun
	require.EqualValues(t, 5, s.running.Load(), "more workers start while jobs run")

	require.NoError(t, b.SetWorkers(1))
	for range jobs {
		hold <- struct{}{}
	}
	_, err := j.Wait(soon(t))
	require.NoError(t, err)
	require.Eventually(t, func() bool { return b.Devices()[0].Workers == 1 }, time.Minute, time.Millisecond)
	require.EqualValues(t, 5, s.mostAtOne.Load())

	for _, bad := range []int{-1, MaxWorkers + 1} {
		require.ErrorIs(t, b.SetWorkers(bad), ErrOption)
	}
	_, err = New(Config{Providers: []backend.Provider{s}, Workers: -1})
	require.ErrorIs(t, err, ErrOption)
}

func TestDevices(t *testing.T) {
	t.Run("jobs go to the least loaded device of the first usable kind", func(t *testing.T) {
		gpu := newScripted(backend.CUDA, 3)
		gpu.infos[1].Unusable = "too old"
		cpu := newScripted(backend.CPU, 1)
		hold := make(chan struct{})
		gpu.script = func(context.Context, *backend.Task) error { <-hold; return nil }
		b := newBench(t, Config{Providers: []backend.Provider{gpu, cpu}, Workers: 1})
		j := b.start(t, 4, any1())
		<-gpu.begun
		<-gpu.begun
		for i, want := range []int64{2, 0, 2, 0} {
			require.Equal(t, want, b.devices[i].load.Load(), "device %d", i)
		}
		close(hold)
		_, err := j.Wait(soon(t))
		require.NoError(t, err)
		require.Empty(t, b.GPUReason())
	})

	t.Run("the CPU takes over where no GPU is usable, and the reason is told", func(t *testing.T) {
		gpu := newScripted(backend.CUDA, 0)
		gpu.listErr = fmt.Errorf("no driver here")
		cpu := newScripted(backend.CPU, 1)
		b := newBench(t, Config{Providers: []backend.Provider{gpu, cpu}})
		_, err := b.start(t, 1, any1()).Wait(soon(t))
		require.NoError(t, err)
		require.Contains(t, b.GPUReason(), "no driver here")
	})

	t.Run("an unusable GPU is listed with its reason", func(t *testing.T) {
		gpu := newScripted(backend.CUDA, 1)
		gpu.infos[0].Unusable = "driver too old"
		b := newBench(t, Config{Providers: []backend.Provider{gpu, newScripted(backend.CPU, 1)}})
		require.Equal(t, "driver too old", b.Devices()[0].Unusable)
		require.Contains(t, b.GPUReason(), "driver too old")
		for _, index := range []int{0, 2, -2} {
			opt := any1()
			opt.Device = index
			_, err := b.Start(t.Context(), b.set, []Partition{b.part}, opt)
			require.ErrorIs(t, err, ErrNoDevice, "device %d", index)
		}
	})

	t.Run("no usable device at all is an error of New", func(t *testing.T) {
		none := newScripted(backend.CUDA, 0)
		none.listErr = errScripted
		_, err := New(Config{Providers: []backend.Provider{none}})
		require.ErrorIs(t, err, ErrNoDevice)
		require.Contains(t, err.Error(), errScripted.Error())
	})
}

func TestBadPartitionsStartNothing(t *testing.T) {
	s := newScripted(backend.CPU, 1)
	b := newBench(t, Config{Providers: []backend.Provider{s}})
	short := *b.part.Assignment
	short.A = short.A[:len(short.A)-1]
	var outside fr.Element
	for i := range outside {
		outside[i] = ^uint64(0)
	}
	good := any1()
	for name, c := range map[string]struct {
		bad  Partition
		opt  ProveOptions
		want error
	}{
		"no assignment":              {Partition{}, good, ErrOption},
		"rows that differ":           {Partition{Assignment: &short}, good, groth16.ErrSize},
		"r outside the field":        {Partition{Assignment: b.part.Assignment, R: outside}, good, groth16.ErrScalarRange},
		"s outside the field":        {Partition{Assignment: b.part.Assignment, S: outside}, good, groth16.ErrScalarRange},
		"a priority that is none":    {b.part, ProveOptions{Priority: 9, Device: AnyDevice}, ErrOption},
		"a device that is not there": {b.part, ProveOptions{Device: 7}, ErrNoDevice},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := b.Start(t.Context(), b.set, []Partition{b.part, c.bad}, c.opt)
			require.ErrorIs(t, err, c.want)
			require.Empty(t, s.begun)
		})
	}
}

func TestNilArgumentsAreRefused(t *testing.T) {
	b := newBench(t, Config{Providers: []backend.Provider{newScripted(backend.CPU, 1)}})
	_, err := b.Start(t.Context(), nil, []Partition{b.part}, any1())
	require.ErrorIs(t, err, ErrOption)
	require.ErrorIs(t, b.set.Verify(b.part.Assignment.Inputs, nil), ErrOption)
	require.EqualValues(t, 1, b.set.set.pins, "a refused call pins nothing")
}

func TestWaitersDoNotShareTheirProofs(t *testing.T) {
	b := newBench(t, Config{Providers: []backend.Provider{newScripted(backend.CPU, 1)}})
	j := b.start(t, 1, any1())
	first, err := j.Wait(soon(t))
	require.NoError(t, err)
	first[0] = Proof{}
	second, err := j.Wait(soon(t))
	require.NoError(t, err)
	require.NotEqual(t, first, second)
}

func TestParameterSets(t *testing.T) {
	path := goldenCase(t, "two").Params

	t.Run("a handle is refused after its last release, and jobs keep the set", func(t *testing.T) {
		s := newScripted(backend.CPU, 1)
		hold := make(chan struct{})
		s.script = func(context.Context, *backend.Task) error { <-hold; return nil }
		b := newBench(t, Config{Providers: []backend.Provider{s}})
		require.NoError(t, b.set.Retain())
		j := b.start(t, 1, any1())
		<-s.begun
		require.NoError(t, b.set.Release())
		require.NoError(t, b.set.Release())
		require.ErrorIs(t, b.set.Release(), ErrReleased)
		require.ErrorIs(t, b.set.Retain(), ErrReleased)
		_, err := b.set.Info()
		require.ErrorIs(t, err, ErrReleased)
		require.EqualValues(t, 0, s.drops.Load(), "the running job pins the set")
		close(hold)
		_, err = j.Wait(soon(t))
		require.NoError(t, err)
		require.EqualValues(t, 1, s.drops.Load())
	})

	t.Run("a file opened twice is one set until both handles go", func(t *testing.T) {
		s := newScripted(backend.CPU, 1)
		b := newBench(t, Config{Providers: []backend.Provider{s}})
		second, err := b.OpenSRS(t.Context(), path, SRSOptions{})
		require.NoError(t, err)
		require.Same(t, b.set.set, second.set)
		require.NoError(t, b.set.Release())
		require.EqualValues(t, 0, s.drops.Load())
		require.NoError(t, second.Release())
		require.EqualValues(t, 1, s.drops.Load())
	})

	t.Run("a set that does not load leaves nothing behind", func(t *testing.T) {
		s := newScripted(backend.CPU, 1)
		s.loadErr = errScripted
		e, err := New(Config{Providers: []backend.Provider{s}})
		require.NoError(t, err)
		_, err = e.OpenSRS(t.Context(), path, SRSOptions{})
		require.ErrorIs(t, err, errScripted)
		require.Empty(t, e.sets)
		require.NoError(t, e.Close())
	})

	t.Run("a set of another engine is refused", func(t *testing.T) {
		b := newBench(t, Config{Providers: []backend.Provider{newScripted(backend.CPU, 1)}})
		other := newBench(t, Config{Providers: []backend.Provider{newScripted(backend.CPU, 1)}})
		_, err := b.Start(t.Context(), other.set, []Partition{b.part}, any1())
		require.ErrorIs(t, err, ErrOption)
	})

	t.Run("the facts are those of the file", func(t *testing.T) {
		b := newBench(t, Config{Providers: []backend.Provider{newScripted(backend.CPU, 1)}})
		info, err := b.set.Info()
		require.NoError(t, err)
		require.EqualValues(t, 32, info.DomainSize)
		require.EqualValues(t, 4, info.NumInputs)
		require.EqualValues(t, 26, info.NumAux)
		require.EqualValues(t, 4+11, info.NumA)
		require.EqualValues(t, 2+10, info.NumB)
	})
}

func TestClose(t *testing.T) {
	s := newScripted(backend.CPU, 1)
	s.script = untilCancelled
	b := newBench(t, Config{Providers: []backend.Provider{s}})
	running, waiting := b.start(t, 1, any1()), b.start(t, 2, any1())
	<-s.begun
	require.NoError(t, b.Close())
	for _, j := range []*Job{running, waiting} {
		_, err := j.Wait(soon(t))
		require.ErrorIs(t, err, ErrClosed)
	}
	require.EqualValues(t, 1, s.drops.Load())
	require.EqualValues(t, 1, s.closes.Load())

	require.ErrorIs(t, b.Close(), ErrClosed)
	_, err := b.Start(t.Context(), b.set, []Partition{b.part}, any1())
	require.ErrorIs(t, err, ErrClosed)
	_, err = b.OpenSRS(t.Context(), goldenCase(t, "two").Params, SRSOptions{})
	require.ErrorIs(t, err, ErrClosed)
	require.NoError(t, b.set.Release())
	require.EqualValues(t, 1, s.drops.Load(), "a set is dropped once")
}

// TestHammer starts, cancels, resizes, opens and releases from many
// goroutines; run with -race it finds what the tests above cannot.
func TestHammer(t *testing.T) {
	s := newScripted(backend.CUDA, 2)
	s.begun = make(chan *backend.Task, 1<<16)
	s.script = func(ctx context.Context, task *backend.Task) error {
		task.RowsRead()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Microsecond):
			return nil
		}
	}
	b := newBench(t, Config{Providers: []backend.Provider{s}})
	path := goldenCase(t, "two").Params
	const callers, rounds = 8, 40
	done := make(chan error, callers)
	for caller := range callers {
		go func() {
			for round := range rounds {
				if err := b.hammer(t.Context(), path, caller, round); err != nil {
					done <- err
					return
				}
			}
			done <- nil
		}()
	}
	for range callers {
		require.NoError(t, <-done)
	}
	for _, d := range b.devices {
		require.EqualValues(t, 0, d.load.Load())
	}
}

func (b *bench) hammer(ctx context.Context, path string, caller, round int) error {
	set, err := b.OpenSRS(ctx, path, SRSOptions{})
	if err != nil {
		return err
	}
	opt := any1()
	opt.SkipSelfCheck = true
	opt.Priority = Priority(round % 5)
	j, err := b.Start(ctx, set, []Partition{b.part, b.part, b.part}, opt)
	if err != nil {
		return err
	}
	if err := set.Release(); err != nil {
		return err
	}
	if round%7 == 0 {
		if err := b.SetWorkers(1 + (caller+round)%6); err != nil {
			return err
		}
	}
	if round%3 == 0 {
		j.Cancel()
	}
	_, err = j.Wait(ctx)
	if round%3 == 0 {
		return nil // cancelled or done, as it happened to be
	}
	return err
}
