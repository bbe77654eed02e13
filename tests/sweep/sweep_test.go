package sweep_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/engine/backend"
	"github.com/libcuzk/libcuzk/engine/cpu"
	"github.com/libcuzk/libcuzk/engine/groth16"
	"github.com/libcuzk/libcuzk/internal/circuits/synth"
	"github.com/libcuzk/libcuzk/tests/sweep"
)

// maxLog: domains of 1 to 2^12, 20 s on two cores; with -short to 2^8, for runs
// under the race detector.
const (
	maxLog      = 12
	maxLogShort = 8
)

func TestEveryDomainUpTo4096OnTheCPU(t *testing.T) {
	upTo := maxLog
	if testing.Short() {
		upTo = maxLogShort
	}
	circuits := sweep.Circuits(upTo)
	sweep.Run(t, open(t, cpu.Options{}), circuits)
	t.Logf("%d circuits, domains of 1 to 2^%d", len(circuits), upTo)
}

func TestSmallDomainsWithoutCodeForTheProcessor(t *testing.T) {
	sweep.Run(t, open(t, cpu.Options{Portable: true}), sweep.Circuits(maxLogShort))
}

func TestUnsatisfiedCircuitsGiveTheProofThatCEqualToABWouldGive(t *testing.T) {
	d := open(t, cpu.Options{})
	for rows := 2; rows <= 64; rows *= 2 {
		shape := synth.Dense(rows, 1)
		shape.Spoil, shape.SpoilRow = true, rows/2-1
		assert.True(t, sweep.Check(t, d, sweep.Circuit{Name: "spoilt", Shape: shape, Seed: uint64(rows)}))
	}
}

func TestTheSweepCoversWhatItSays(t *testing.T) {
	circuits := sweep.Circuits(maxLog)
	domains, names := map[int]bool{}, map[string]bool{}
	noAux, onlyInputs, emptyB, zeroB := 0, 0, 0, 0
	for _, c := range circuits {
		require.False(t, names[c.Name], "%s twice", c.Name)
		names[c.Name] = true
		domains[groth16.Domain(c.Shape.Rows)] = true
		circuit, err := synth.New(c.Shape, c.Seed)
		require.NoError(t, err, c.Name)
		a := circuit.Assignment()
		if len(a.Aux) == 0 {
			noAux++
		}
		if c.Shape.Rows == c.Shape.Inputs {
			onlyInputs++
		}
		if a.BInputs.Popcount+a.BAux.Popcount == 0 {
			emptyB++
		} else if allZero(circuit) {
			zeroB++
		}
	}
	assert.Len(t, domains, maxLog+1)
	for what, n := range map[string]int{
		"no aux": noAux, "only inputs": onlyInputs, "no point in b": emptyB, "b zero on every row": zeroB,
	} {
		assert.Positive(t, n, what)
	}
}

func allZero(c *synth.Circuit) bool {
	for i := range c.Assignment().B {
		if !c.Assignment().B[i].IsZero() {
			return false
		}
	}
	return true
}

func open(t *testing.T, options cpu.Options) backend.Device {
	t.Helper()
	d, err := cpu.New(options).Open(0)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, d.Close()) })
	return d
}
