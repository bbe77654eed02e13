// Package sweep proves circuits of every small size and of every kind of
// density on a device, and compares each proof with the one computed from the
// parameters' trapdoor, which takes no transform and no sum over points.
package sweep

import (
	"fmt"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/engine/backend"
	"github.com/libcuzk/libcuzk/engine/groth16"
	"github.com/libcuzk/libcuzk/internal/circuits/synth"
)

// Circuit is one circuit of the sweep.
type Circuit struct {
	Name  string
	Shape synth.Shape
	Seed  uint64
}

// Rows lists the sizes: every one up to 33, then each power of two with its
// neighbours, up to 2^maxLog.
func Rows(maxLog int) []int {
	const all = 33
	var out []int
	for rows := 1; rows <= min(all, 1<<maxLog); rows++ {
		out = append(out, rows)
	}
	for k := 6; k <= maxLog; k++ {
		out = append(out, 1<<k-1, 1<<k)
		if k < maxLog {
			out = append(out, 1<<k+1)
		}
	}
	return out
}

// Circuits lists circuits of every size of Rows with empty, full and mixed
// densities, and for each kind of value one of them in turn.
func Circuits(maxLog int) []Circuit {
	var out []Circuit
	for _, rows := range Rows(maxLog) {
		for kind, density := range densities {
			values := valueKinds[(rows+kind)%len(valueKinds)]
			shape := synth.Shape{Rows: rows, Inputs: 1 + rows%min(rows, 5)}
			if rows%11 == 10 {
				shape.Inputs = rows // nothing but inputs
			}
			if shape.Inputs < rows {
				shape.Aux = (rows - shape.Inputs) * [...]int{1, 1, 3}[rows%3]
			}
			density.set(&shape)
			values.set(&shape)
			out = append(out, Circuit{
				Name:  fmt.Sprintf("%d rows, %d inputs, %d aux, %s, %s", rows, shape.Inputs, shape.Aux, density.name, values.name),
				Shape: shape,
				Seed:  uint64(len(out)),
			})
		}
	}
	return out
}

// choice sets one side of a shape.
type choice struct {
	name string
	set  func(*synth.Shape)
}

var densities = []choice{
	{"densities empty", func(*synth.Shape) {}},
	{"densities full", func(s *synth.Shape) { s.AAux, s.BAux, s.BOne, s.BInputs = 1, 1, true, 1 }},
	{"densities mixed", func(s *synth.Shape) { s.AAux, s.BAux, s.BOne, s.BInputs = 0.6, 0.3, s.Rows%2 == 0, 0.5 }},
	{"a full and b empty", func(s *synth.Shape) { s.AAux = 1 }},
	{"a empty and b full", func(s *synth.Shape) { s.BAux = 1 }},
}

var valueKinds = []choice{
	{"values dense", func(*synth.Shape) {}},
	{"values as in a PoRep", func(s *synth.Shape) {
		like := synth.PoRepLike(s.Rows, s.Inputs)
		s.Values, s.ValuesInB, s.RowsA, s.RowsB = like.Values, like.ValuesInB, like.RowsA, like.RowsB
	}},
	{"values small", both(synth.Shares{Small: 1})},
	{"values 0 and 1", both(synth.Shares{Zero: 0.5, One: 0.5})},
	{"values 0", both(synth.Shares{Zero: 1})},
	{"values 1", both(synth.Shares{One: 1})},
	{"points repeated", func(s *synth.Shape) {
		both(synth.Shares{Zero: 0.1, One: 0.3, Small: 0.1})(s)
		s.Duplicates, s.DuplicateGroup = 0.8, 2+s.Rows/4
	}},
}

func both(shares synth.Shares) func(*synth.Shape) {
	return func(s *synth.Shape) {
		s.Values, s.ValuesInB = shares, shares
		s.RowsA, s.RowsB = synth.Shares{Zero: 0.3, One: 0.3}, synth.Shares{Zero: 0.3, One: 0.3}
	}
}

// Run proves every circuit on d and compares.
func Run(t *testing.T, d backend.Device, circuits []Circuit) {
	t.Helper()
	for _, c := range circuits {
		// One test for all: a subtest for each would drown the listing.
		if !Check(t, d, c) {
			t.Errorf("the circuit above: %s, seed %d", c.Name, c.Seed)
		}
	}
}

// Check proves one circuit on d and reports whether the proofs are the
// expected ones: blinded, and with r = s = 0.
func Check(t *testing.T, d backend.Device, c Circuit) bool {
	t.Helper()
	circuit, err := synth.New(c.Shape, c.Seed)
	require.NoError(t, err, c.Name)
	params, err := circuit.Params()
	require.NoError(t, err, c.Name)
	defer func() { assert.NoError(t, params.Release(), c.Name) }()
	require.NoError(t, groth16.Validate(circuit.Assignment(), params.Counts()), c.Name)
	require.NoError(t, d.Load(t.Context(), params), c.Name)
	defer d.Drop(params)

	read := 0
	sums, err := d.Prove(t.Context(), &backend.Partition{
		Params: params, Assignment: circuit.Assignment(),
		RowsRead: func() { read++ },
		Stage:    func(string, float64) {},
	})
	require.NoError(t, err, c.Name)
	assert.Equal(t, 1, read, "RowsRead is called once")

	r, s := circuit.Blinding()
	same := true
	for _, blinding := range [][2]fr.Element{{r, s}, {}} {
		proof, err := groth16.Assemble(params.VerifyingKey(), sums, &blinding[0], &blinding[1])
		require.NoError(t, err, c.Name)
		want := circuit.ExpectedProof(blinding[0], blinding[1])
		same = assert.Equal(t, want.A, proof.A, "A") && same
		same = assert.Equal(t, want.B, proof.B, "B") && same
		same = assert.Equal(t, want.C, proof.C, "C") && same
	}
	return same
}
