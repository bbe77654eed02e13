package engine

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/engine/backend"
)

func TestParameterSets(t *testing.T) {
	path := goldenCase(t, "two").Params

	t.Run("a handle is refused after its last release, and jobs keep the set", func(t *testing.T) {
		s := newScripted(backend.CPU, 1)
		hold := make(chan struct{})
		s.script = func(context.Context, *backend.Partition) error { <-hold; return nil }
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

	t.Run("nobody waits for a set that takes long to free", func(t *testing.T) {
		s := newScripted(backend.CPU, 1)
		freeing, goOn := make(chan struct{}), make(chan struct{})
		var begun atomic.Bool
		s.dropping = func() {
			if begun.CompareAndSwap(false, true) {
				close(freeing)
				<-goOn
			}
		}
		b := newBench(t, Config{Providers: []backend.Provider{s}})
		released := make(chan error, 1)
		go func() { released <- b.set.Release() }()
		<-freeing
		require.ErrorIs(t, b.set.Release(), ErrReleased)
		require.ErrorIs(t, b.set.Retain(), ErrReleased)
		_, err := b.set.Info()
		require.ErrorIs(t, err, ErrReleased)
		again, err := b.OpenSRS(t.Context(), path, SRSOptions{})
		require.NoError(t, err)
		_, err = again.Info()
		require.NoError(t, err)
		require.NoError(t, again.Release())
		close(goOn)
		require.NoError(t, <-released)
		require.EqualValues(t, 2, s.drops.Load())
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
