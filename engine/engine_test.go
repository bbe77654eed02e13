package engine

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/engine/backend"
	"github.com/libcuzk/libcuzk/internal/circuits/gv"
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

func TestWorkers(t *testing.T) {
	s := newScripted(backend.CUDA, 1)
	hold := make(chan struct{})
	s.script = func(context.Context, *backend.Partition) error { <-hold; return nil }
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
		gpu.script = func(context.Context, *backend.Partition) error { <-hold; return nil }
		b := newBench(t, Config{Providers: []backend.Provider{gpu, cpu}, Workers: 1})
		j := b.start(t, 4, any1())
		<-gpu.begun
		<-gpu.begun
		for i, want := range []int64{2, 0, 2, 0} {
			require.Equal(t, want, b.all()[i].backlog.Load(), "device %d", i)
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
	s.begun = make(chan *backend.Partition, 1<<16)
	s.script = func(ctx context.Context, partition *backend.Partition) error {
		partition.RowsRead()
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
	for _, d := range b.all() {
		require.EqualValues(t, 0, d.backlog.Load())
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
