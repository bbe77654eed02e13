// Package backendtest is the conformance suite that every back end runs: the
// golden cases bit by bit, and generated cases whose sums are compared with a
// plain reference.
package backendtest

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/engine/backend"
	"github.com/libcuzk/libcuzk/engine/groth16"
	"github.com/libcuzk/libcuzk/engine/srs"
	"github.com/libcuzk/libcuzk/internal/circuits/gv"
	"github.com/libcuzk/libcuzk/internal/modulus"
	"github.com/libcuzk/libcuzk/tests/golden"
)

// Run runs the suite on every usable device of p. It fails if there is none.
func Run(t *testing.T, p backend.Provider) {
	infos, err := p.Devices()
	require.NoError(t, err)
	usable := 0
	for _, info := range infos {
		assert.Equal(t, p.Name(), info.Backend)
		assert.NotEmpty(t, info.Name)
		if info.Unusable != "" {
			t.Logf("device %d is not used: %s", info.Ordinal, info.Unusable)
			continue
		}
		usable++
		d, err := p.Open(info.Ordinal)
		require.NoError(t, err)
		t.Run("golden cases are bit-equal", func(t *testing.T) { testGolden(t, d) })
		t.Run("sums equal the reference", func(t *testing.T) { testSums(t, d) })
		t.Run("scalars not below the modulus are refused", func(t *testing.T) { testRange(t, d) })
		t.Run("cancellation", func(t *testing.T) { testCancel(t, d) })
		t.Run("many at once", func(t *testing.T) { testMany(t, d) })
		t.Run("load and drop", func(t *testing.T) { testLoadDrop(t, d) })
		require.NoError(t, d.Close())
		t.Run("a closed device refuses work", func(t *testing.T) { testClosed(t, d) })
	}
	require.Positive(t, usable, "no usable device")
}

// prove proves one partition. It checks that RowsRead was called once, or not at
// all if the proof failed, and that stages have the names of backend.Stages.
func prove(t testing.TB, ctx context.Context, d backend.Device, params *srs.Params, a *groth16.Assignment, rowsRead func()) (*groth16.Sums, error) {
	var mu sync.Mutex
	read := 0
	sums, err := d.Prove(ctx, &backend.Partition{
		Params:     params,
		Assignment: a,
		RowsRead: func() {
			mu.Lock()
			read++
			mu.Unlock()
			if rowsRead != nil {
				rowsRead()
			}
		},
		Stage: func(name string, seconds float64) {
			assert.Contains(t, backend.Stages(), name, "stage")
			assert.GreaterOrEqual(t, seconds, 0.0)
		},
	})
	mu.Lock()
	defer mu.Unlock()
	if err == nil || read > 0 {
		assert.Equal(t, 1, read, "calls of RowsRead")
	}
	return sums, err
}

func testGolden(t *testing.T, d backend.Device) {
	golden.Each(t, func(t *testing.T, c golden.Case) {
		params, err := srs.Open(c.Params, srs.Options{})
		require.NoError(t, err)
		defer func() { assert.NoError(t, params.Release()) }()
		require.NoError(t, d.Load(t.Context(), params))
		defer d.Drop(params)
		key, err := groth16.Prepare(params.VerifyingKey())
		require.NoError(t, err)

		for _, path := range c.Witnesses {
			file, err := gv.Read(path)
			require.NoError(t, err)
			a := &file.Assignment
			require.NoError(t, groth16.Validate(a, params.Counts()))
			sums, err := prove(t, t.Context(), d, params, a, nil)
			require.NoError(t, err)
			proof, err := groth16.Assemble(params.VerifyingKey(), sums, &file.R, &file.S)
			require.NoError(t, err)
			require.NotNil(t, file.Proof)
			assert.Equal(t, file.Proof.Bytes(), proof.Bytes(), path)
			assert.NoError(t, key.Verify(a.Inputs, proof))
		}
	})
}

func testSums(t *testing.T, d backend.Device) {
	for name, shape := range shapes {
		t.Run(name, func(t *testing.T) {
			c := shape.generate(t)
			require.NoError(t, d.Load(t.Context(), c.params))
			defer d.Drop(c.params)
			sums, err := prove(t, t.Context(), d, c.params, c.assignment, nil)
			require.NoError(t, err)
			c.checkEqual(t, sums)
		})
	}
}

func testRange(t *testing.T, d backend.Device) {
	c := shape{rows: 40, inputs: 3, aux: 70}.generate(t)
	require.NoError(t, d.Load(t.Context(), c.params))
	defer d.Drop(c.params)
	a := c.assignment
	for name, at := range map[string]*[4]uint64{
		"a[39]": (*[4]uint64)(&a.A[39]), "b[0]": (*[4]uint64)(&a.B[0]),
		"inputs[2]": (*[4]uint64)(&a.Inputs[2]), "aux[69]": (*[4]uint64)(&a.Aux[69]),
	} {
		t.Run(name, func(t *testing.T) {
			saved := *at
			defer func() { *at = saved }()
			for _, bad := range [][4]uint64{modulus.R, {^uint64(0), ^uint64(0), ^uint64(0), ^uint64(0)}} {
				*at = bad
				_, err := prove(t, t.Context(), d, c.params, a, nil)
				require.ErrorIs(t, err, groth16.ErrScalarRange)
				assert.ErrorContains(t, err, name)
			}
		})
	}
	sums, err := prove(t, t.Context(), d, c.params, a, nil)
	require.NoError(t, err, "a refused partition leaves the device as it was")
	c.checkEqual(t, sums)
}

func testCancel(t *testing.T, d backend.Device) {
	c := shape{rows: 5000, inputs: 2, aux: 6000}.generate(t)
	require.NoError(t, d.Load(t.Context(), c.params))
	defer d.Drop(c.params)

	t.Run("before the start", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := prove(t, ctx, d, c.params, c.assignment, nil)
		require.ErrorIs(t, err, context.Canceled)
	})
	t.Run("when the rows have been read", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		_, err := prove(t, ctx, d, c.params, c.assignment, cancel)
		require.ErrorIs(t, err, context.Canceled)
	})
	sums, err := prove(t, t.Context(), d, c.params, c.assignment, nil)
	require.NoError(t, err, "a cancelled partition leaves the device as it was")
	c.checkEqual(t, sums)
}

func testMany(t *testing.T, d backend.Device) {
	var cases []*instance
	for _, s := range []shape{
		{rows: 1, inputs: 1}, {rows: 33, inputs: 2, aux: 30}, {rows: 700, inputs: 5, aux: 900, witness: sparse},
	} {
		c := s.generate(t)
		require.NoError(t, d.Load(t.Context(), c.params))
		defer d.Drop(c.params)
		cases = append(cases, c)
	}
	var wait sync.WaitGroup
	for i := range 12 {
		c := cases[i%len(cases)]
		wait.Add(1)
		go func() {
			defer wait.Done()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if i%4 == 3 {
				_, err := prove(t, ctx, d, c.params, c.assignment, cancel)
				if err != nil {
					assert.ErrorIs(t, err, context.Canceled)
				}
				return
			}
			sums, err := prove(t, ctx, d, c.params, c.assignment, nil)
			if assert.NoError(t, err) {
				c.checkEqual(t, sums)
			}
		}()
	}
	wait.Wait()
}

func testLoadDrop(t *testing.T, d backend.Device) {
	c := shape{rows: 20, inputs: 2, aux: 20}.generate(t)
	for range 2 {
		require.NoError(t, d.Load(t.Context(), c.params))
		require.NoError(t, d.Load(t.Context(), c.params), "a second time")
		sums, err := prove(t, t.Context(), d, c.params, c.assignment, func() { d.Drop(c.params) })
		require.NoError(t, err, "dropped while it is used")
		c.checkEqual(t, sums)
	}
}

func testClosed(t *testing.T, d backend.Device) {
	c := shape{rows: 4, inputs: 1}.generate(t)
	require.Error(t, d.Load(t.Context(), c.params))
	_, err := prove(t, t.Context(), d, c.params, c.assignment, nil)
	require.Error(t, err)
}
