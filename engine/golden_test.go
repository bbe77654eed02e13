package engine_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/engine"
	"github.com/libcuzk/libcuzk/engine/backend"
	"github.com/libcuzk/libcuzk/engine/cpu"
	"github.com/libcuzk/libcuzk/internal/circuits/gv"
	"github.com/libcuzk/libcuzk/tests/golden"
)

func newEngine(t *testing.T, workers int) *engine.Engine {
	t.Helper()
	e, err := engine.New(engine.Config{
		Providers: []backend.Provider{cpu.New(cpu.Options{})},
		Workers:   workers,
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	return e
}

// proved is a partition with the proof that bellperson made of it.
type proved struct {
	part engine.Partition
	want engine.Proof
}

func read(t *testing.T, c golden.Case) []proved {
	t.Helper()
	var all []proved
	for _, path := range c.Witnesses {
		f, err := gv.Read(path)
		require.NoError(t, err)
		require.NotNil(t, f.Proof, "%s has no proof to compare with", path)
		all = append(all, proved{
			engine.Partition{Assignment: &f.Assignment, R: f.R, S: f.S}, *f.Proof,
		})
	}
	return all
}

func TestGoldenAlone(t *testing.T) {
	golden.Each(t, func(t *testing.T, c golden.Case) {
		e := newEngine(t, 0)
		set, err := e.OpenSRS(t.Context(), c.Params, engine.SRSOptions{CheckSubgroup: c.Rows < 1<<12})
		require.NoError(t, err)
		for i, p := range read(t, c) {
			got, err := e.Prove(t.Context(), set, p.part, engine.DefaultProveOptions())
			require.NoError(t, err)
			require.Equal(t, p.want, got, "witness %d", i)
			require.NoError(t, set.Verify(p.part.Assignment.Inputs, &got))
		}
	})
}

func TestGoldenInBatches(t *testing.T) {
	golden.Each(t, func(t *testing.T, c golden.Case) {
		e := newEngine(t, 2)
		set, err := e.OpenSRS(t.Context(), c.Params, engine.SRSOptions{})
		require.NoError(t, err)
		all := read(t, c)
		all = append(all, all...)
		parts := make([]engine.Partition, len(all))
		want := make([]engine.Proof, len(all))
		for i, p := range all {
			parts[i], want[i] = p.part, p.want
		}
		j, err := e.Start(t.Context(), set, parts, engine.DefaultProveOptions())
		require.NoError(t, err)
		got, err := j.Wait(t.Context())
		require.NoError(t, err)
		require.Equal(t, want, got)
	})
}

// TestGoldenManyThreads opens, proves, verifies and releases every small case
// from 16 goroutines over one engine.
func TestGoldenManyThreads(t *testing.T) {
	e := newEngine(t, 3)
	cases, err := golden.Small()
	require.NoError(t, err)
	witnesses := map[string][]proved{}
	for _, c := range cases {
		witnesses[c.Name] = read(t, c)
	}
	const threads = 16
	failed := make([]error, threads)
	var all sync.WaitGroup
	for thread := range threads {
		all.Go(func() {
			for i := range cases {
				c := cases[(thread+i)%len(cases)]
				if err := proveAll(t, e, c, witnesses[c.Name]); err != nil {
					failed[thread] = fmt.Errorf("%s: %w", c.Name, err)
					return
				}
			}
		})
	}
	all.Wait()
	for _, err := range failed {
		require.NoError(t, err)
	}
}

func proveAll(t *testing.T, e *engine.Engine, c golden.Case, witnesses []proved) error {
	set, err := e.OpenSRS(t.Context(), c.Params, engine.SRSOptions{})
	if err != nil {
		return err
	}
	for _, p := range witnesses {
		got, err := e.Prove(t.Context(), set, p.part, engine.DefaultProveOptions())
		if err != nil {
			return err
		}
		if got != p.want {
			return fmt.Errorf("proof differs from bellperson's")
		}
	}
	return set.Release()
}

// TestSpoiltWitness changes one row or one variable of a satisfied circuit:
// the proof that comes out must be withheld.
func TestSpoiltWitness(t *testing.T) {
	e := newEngine(t, 0)
	c, err := golden.Named("mimc")
	require.NoError(t, err)
	set, err := e.OpenSRS(t.Context(), c.Params, engine.SRSOptions{})
	require.NoError(t, err)
	for name, spoil := range map[string]func(a *engine.Assignment){
		"a row of a":          func(a *engine.Assignment) { a.A[5].SetUint64(77) },
		"a row of b":          func(a *engine.Assignment) { a.B[5].SetUint64(77) },
		"an aux value":        func(a *engine.Assignment) { a.Aux[9].SetUint64(77) },
		"a public input":      func(a *engine.Assignment) { a.Inputs[1].SetUint64(77) },
		"the constant one":    func(a *engine.Assignment) { a.Inputs[0].SetUint64(2) },
		"the row of an input": func(a *engine.Assignment) { a.A[len(a.A)-1].SetUint64(77) },
	} {
		t.Run(name, func(t *testing.T) {
			part := read(t, c)[0].part
			spoil(part.Assignment)
			_, err := e.Prove(t.Context(), set, part, engine.DefaultProveOptions())
			require.ErrorIs(t, err, engine.ErrUnsatisfied)

			opt := engine.DefaultProveOptions()
			opt.SkipSelfCheck = true
			proof, err := e.Prove(t.Context(), set, part, opt)
			require.NoError(t, err)
			require.Error(t, set.Verify(part.Assignment.Inputs, &proof))
		})
	}
}
