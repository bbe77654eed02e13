package cpu

import (
	"errors"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/engine/backend"
	"github.com/libcuzk/libcuzk/engine/cpu/internal/ntt"
	"github.com/libcuzk/libcuzk/internal/circuits/synth"
	"github.com/libcuzk/libcuzk/internal/hostmem"
)

// TestMemoryOfAJob checks the formula of the package comment for a job whose
// witness is all dense, the worst case.
func TestMemoryOfAJob(t *testing.T) {
	const rows, inputs, workers = 1 << 13, 3, 2
	circuit, err := synth.New(synth.Dense(rows, inputs), 1)
	require.NoError(t, err)
	params, err := circuit.Params()
	require.NoError(t, err)
	defer func() { require.NoError(t, params.Release()) }()

	for name, options := range map[string]Options{"default": {Workers: workers}, "portable": {Workers: workers, Portable: true}} {
		t.Run(name, func(t *testing.T) {
			opened, err := New(options).Open(0)
			require.NoError(t, err)
			d := opened.(*Device)
			require.NoError(t, d.Load(t.Context(), params))
			tables, _ := d.pool.UsedBytes()
			f, p, tableBytes := 32, 96+192, 32
			if vectorized(options) {
				f, p, tableBytes = 40, 128+256, 80
			}
			const m = rows
			atMost(t, tables, tableBytes*m, "tables")

			_, err = d.Prove(t.Context(), &backend.Partition{Params: params, Assignment: circuit.Assignment(),
				RowsRead: func() {}, Stage: func(string, float64) {}})
			require.NoError(t, err)
			v := len(circuit.Assignment().Aux) + inputs
			quotient := (32 + 3*f) * m
			// 11-bit windows, 12 for each of two cores; a tile of all points and
			// 8192 slots.
			workspace := workers * p * (12*1024 + m + 8192)
			atMost(t, d.pool.PeakBytes(), tables+32*m+quotient+56*v+v/4+workspace, "a job")
			inUse, _ := d.pool.UsedBytes()
			assert.Equal(t, tables, inUse, "only the tables stay in use")

			d.Drop(params)
			inUse, idle := d.pool.UsedBytes()
			assert.Zero(t, inUse+idle, "nothing stays once the last set is dropped")
			require.NoError(t, d.Close())
		})
	}
}

// atMost allows for size classes, and makes sure that the bound means
// something.
func atMost(t *testing.T, got, want int, what string) {
	t.Helper()
	assert.LessOrEqual(t, got, want+want/8+8*4096, "%s: %d bytes", what, got)
	assert.GreaterOrEqual(t, got, want/2, "%s: %d bytes", what, got)
}

// TestMemoryDoesNotGrowWithTheVarietyOfWitnesses proves one circuit with
// dense shares of 0 to all of the witness.
func TestMemoryDoesNotGrowWithTheVarietyOfWitnesses(t *testing.T) {
	circuit, err := synth.New(synth.Dense(1<<11, 2), 1)
	require.NoError(t, err)
	params, err := circuit.Params()
	require.NoError(t, err)
	defer func() { require.NoError(t, params.Release()) }()
	opened, err := New(Options{Workers: 2}).Open(0)
	require.NoError(t, err)
	d := opened.(*Device)
	defer func() { require.NoError(t, d.Close()) }()
	require.NoError(t, d.Load(t.Context(), params))

	aux := circuit.Assignment().Aux
	prove := func(dense int) {
		a := *circuit.Assignment()
		a.Aux = make([]fr.Element, len(aux))
		for i := range a.Aux[dense:] {
			a.Aux[dense+i].SetOne()
		}
		copy(a.Aux, aux[:dense])
		_, err := d.Prove(t.Context(), &backend.Partition{Params: params, Assignment: &a,
			RowsRead: func() {}, Stage: func(string, float64) {}})
		require.NoError(t, err)
	}
	prove(len(aux))
	one := d.PeakBytes()
	const shares = 30
	for i := range shares {
		prove(len(aux) * i / shares)
	}
	assert.LessOrEqual(t, d.PeakBytes(), 2*one, "one job peaks at %d bytes", one)
}

func TestASetThatCannotBeLoadedIsForgotten(t *testing.T) {
	circuit, err := synth.New(synth.Dense(64, 2), 1)
	require.NoError(t, err)
	params, err := circuit.Params()
	require.NoError(t, err)
	defer func() { require.NoError(t, params.Release()) }()
	opened, err := New(Options{}).Open(0)
	require.NoError(t, err)
	d := opened.(*Device)
	defer func() { require.NoError(t, d.Close()) }()

	full := errors.New("full")
	makePlan := d.newPlan
	d.newPlan = func(*hostmem.Pool, int) (ntt.Plan, error) { return nil, full }
	require.ErrorIs(t, d.Load(t.Context(), params), full)
	assert.Empty(t, d.loaded)
	assert.Empty(t, d.plans)

	d.newPlan = makePlan
	require.NoError(t, d.Load(t.Context(), params))
	d.newPlan = func(*hostmem.Pool, int) (ntt.Plan, error) { return nil, full }
	require.NoError(t, d.Load(t.Context(), params), "the tables are there")
	assert.Len(t, d.loaded, 1)
	d.Drop(params)
	inUse, idle := d.pool.UsedBytes()
	assert.Zero(t, inUse+idle)
}
