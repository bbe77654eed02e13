package engine

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/engine/backend"
	"github.com/libcuzk/libcuzk/engine/cpu"
	"github.com/libcuzk/libcuzk/internal/circuits/synth"
)

// TestAProofWithAPointAtInfinity: without constraints and without blinding C is
// at infinity; it is the right proof, and bellperson returns it too.
func TestAProofWithAPointAtInfinity(t *testing.T) {
	for name, shape := range map[string]synth.Shape{
		"one row":            {Rows: 1, Inputs: 1},
		"nothing but inputs": {Rows: 7, Inputs: 7, BOne: true, BInputs: 1},
	} {
		t.Run(name, func(t *testing.T) {
			circuit, err := synth.New(shape, 1)
			require.NoError(t, err)
			params, err := circuit.Params()
			require.NoError(t, err)
			e, err := New(Config{Providers: []backend.Provider{cpu.New(cpu.Options{})}})
			require.NoError(t, err)
			defer func() { require.NoError(t, e.Close()) }()
			set, err := e.AddSRS(t.Context(), params)
			require.NoError(t, err)

			proof, err := e.Prove(t.Context(), set, Partition{Assignment: circuit.Assignment()}, DefaultProveOptions())
			require.NoError(t, err)
			r := Partition{}.R
			assert.Equal(t, circuit.ExpectedProof(r, r), proof)
			assert.True(t, proof.C.IsInfinity())
			require.NoError(t, set.Verify(circuit.Assignment().Inputs, &proof))
		})
	}
}
