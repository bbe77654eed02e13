package engine

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/engine/backend"
)

// startFirst starts n partitions and waits until the first parks.
func (b *bench) startFirst(t *testing.T, n int) *Job {
	t.Helper()
	j := b.start(t, n, any1())
	<-b.all()[0].provider.(*scripted).begun
	return j
}

// parking is an engine with one worker, whose first partition waits for its
// parameter set until load is closed.
func parking(t *testing.T) (b *bench, load chan struct{}) {
	load = make(chan struct{})
	s := newScripted(backend.CUDA, 1)
	first := make(chan struct{}, 1)
	first <- struct{}{}
	s.script = func(ctx context.Context, p *backend.Partition) error {
		select {
		case <-first:
			return p.Park(func() error {
				select {
				case <-load:
					return nil
				case <-ctx.Done():
					return context.Cause(ctx)
				}
			})
		default:
			return nil
		}
	}
	e, err := New(Config{Providers: []backend.Provider{s}, Workers: 1})
	require.NoError(t, err)
	b = &bench{Engine: e}
	b.set, b.part = openCase(t, e)
	t.Cleanup(func() { _ = e.Close() })
	return b, load
}

// TestPartitionsGoOnBesideOneThatParks: its worker carries others meanwhile, of any
// priority.
func TestPartitionsGoOnBesideOneThatParks(t *testing.T) {
	b, load := parking(t)
	waits := b.startFirst(t, 1)
	for _, priority := range []Priority{PriorityCritical, PriorityLow} {
		opt := any1()
		opt.Priority = priority
		_, err := b.start(t, 3, opt).Wait(soon(t))
		require.NoError(t, err)
	}
	select {
	case <-waits.Done():
		t.Fatal("it waits")
	default:
	}
	close(load)
	_, err := waits.Wait(soon(t))
	require.NoError(t, err)
	assert.Contains(t, waits.Stages(0), backend.StageParameters)
	assert.EqualValues(t, 1, b.Metrics().Devices[0].Stages[backend.StageParameters].Count)
	require.NoError(t, b.set.Release())
	require.NoError(t, b.Close())
}

func TestAPartitionThatParks(t *testing.T) {
	t.Run("is cancelled", func(t *testing.T) {
		b, _ := parking(t)
		j := b.startFirst(t, 2)
		_, err := b.start(t, 1, any1()).Wait(soon(t))
		require.NoError(t, err, "the worker is free")
		j.Cancel()
		_, err = j.Wait(soon(t))
		require.ErrorIs(t, err, ErrCancelled)
		require.NoError(t, b.set.Release())
		require.NoError(t, b.Close())
	})

	t.Run("is cancelled while the worker is busy", func(t *testing.T) {
		b, load := parking(t)
		j := b.startFirst(t, 1)
		_, err := b.start(t, 1, any1()).Wait(soon(t))
		require.NoError(t, err)
		b.all()[0].pool.SetWorkers(0) // nobody carries it on
		close(load)
		j.Cancel()
		_, err = j.Wait(soon(t))
		require.ErrorIs(t, err, ErrCancelled)
		require.NoError(t, b.set.Release())
		require.NoError(t, b.Close())
	})

	t.Run("ends with the engine", func(t *testing.T) {
		b, _ := parking(t)
		j := b.startFirst(t, 1)
		_, err := b.start(t, 1, any1()).Wait(soon(t))
		require.NoError(t, err)
		require.NoError(t, b.Close())
		_, err = j.Wait(soon(t))
		require.ErrorIs(t, err, ErrClosed)
	})

	t.Run("fails with its parameter set", func(t *testing.T) {
		b, _ := parking(t)
		s := b.all()[0].provider.(*scripted)
		s.script = func(ctx context.Context, p *backend.Partition) error {
			return p.Park(func() error { return errScripted })
		}
		_, err := b.start(t, 1, any1()).Wait(soon(t))
		require.ErrorIs(t, err, errScripted)
		require.NoError(t, b.set.Release())
		require.NoError(t, b.Close())
	})
}
