package cuda

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/engine/srs"
	"github.com/libcuzk/libcuzk/internal/circuits/ondevice"
	"github.com/libcuzk/libcuzk/internal/circuits/synth"
	"github.com/libcuzk/libcuzk/tests/cudasim"
)

// Domains are tested up to these logarithms.
const (
	largestOnSimulator = 8
	largestOnCard      = 22
	largestAllDense    = 20 // 2^22 all-dense rows have 13 million dense products to make
)

// TestEveryDomain proves circuits of every domain size, with rows at its edges
// and densities of all kinds, and compares with the proof that the trapdoor
// gives: bit by bit.
func TestEveryDomain(t *testing.T) {
	d, _ := open(t, Options{}, cudasim.Config{})
	maker := newMaker(t)
	largest := largestOnSimulator
	if onCard() {
		largest = largestOnCard
	}
	for log := 0; log <= largest; log++ {
		m := 1 << log
		shapes := map[string]synth.Shape{
			"full domain, like a PoRep": synth.PoRepLike(m, min(m, 40)),
			"just over half, sha":       synth.SHA256Like(m/2+1, 1),
		}
		if log <= largestAllDense {
			shapes["all dense"] = synth.Dense(m-m/3, 1+m/50)
		}
		for name, shape := range shapes {
			t.Run(fmt.Sprintf("2^%d/%s", log, name), func(t *testing.T) {
				c, p := maker.circuit(t, shape, uint64(log))
				defer func() { assert.NoError(t, p.Release()) }()
				defer d.Drop(p)
				r, s := c.Blinding()
				want := c.ExpectedProof(r, s)
				before := d.launched.Load()
				require.Equal(t, want, prove(t, d, p, c.Assignment(), r, s))
				launched := d.launched.Load() - before
				assert.LessOrEqual(t, launched, int64(150), "kernels of one job")
				assert.LessOrEqual(t, launched, int64(d.sets[p].Resident.Launches), "as planned")
			})
		}
	}
}

// TestRounds proves witnesses with many more dense values than the list holds.
func TestRounds(t *testing.T) {
	rows, list := 1200, 300
	if onCard() {
		rows, list = 200_000, 30_000 // several pieces, which end in the middle of rounds
	}
	d, _ := open(t, Options{ListScalars: list}, cudasim.Config{})
	c, p := newMaker(t).circuit(t, synth.Dense(rows, 5), 1)
	defer func() { assert.NoError(t, p.Release()) }()
	defer d.Drop(p)
	r, s := c.Blinding()
	assert.Equal(t, c.ExpectedProof(r, s), prove(t, d, p, c.Assignment(), r, s))
}

// TestDensities proves small circuits whose densities are at their extremes.
func TestDensities(t *testing.T) {
	d, _ := open(t, Options{}, cudasim.Config{})
	mixed := synth.Shares{Zero: 0.4, One: 0.4}
	shape := func(aAux, bAux, bInputs float64, one bool, values synth.Shares) synth.Shape {
		return synth.Shape{Rows: 300, Inputs: 20, Aux: 1100, AAux: aAux, BAux: bAux, BInputs: bInputs, BOne: one,
			Values: values, ValuesInB: values, RowsA: mixed, RowsB: mixed}
	}
	for name, s := range map[string]synth.Shape{
		"nothing in a or b":              shape(0, 0, 0, false, mixed),
		"everything in a and b":          shape(1, 1, 1, true, mixed),
		"only the one in b":              shape(1, 0, 0, true, mixed),
		"inputs in b and no aux":         shape(0.5, 0, 1, false, mixed),
		"half in each":                   shape(0.5, 0.5, 0.5, true, mixed),
		"all aux zero":                   shape(0.5, 0.5, 0.5, true, synth.Shares{Zero: 1}),
		"all aux one":                    shape(0.5, 0.5, 0.5, true, synth.Shares{One: 1}),
		"all aux dense":                  shape(0.5, 0.5, 0.5, true, synth.Shares{}),
		"thousands of equal points":      duplicates(shape(0.9, 0.5, 0, true, mixed)),
		"equal points, dense values ± v": duplicates(shape(0.9, 0.5, 0, true, synth.Shares{})),
	} {
		t.Run(name, func(t *testing.T) {
			c, p := circuit(t, s, 7)
			defer func() { assert.NoError(t, p.Release()) }()
			defer d.Drop(p)
			r, b := c.Blinding()
			assert.Equal(t, c.ExpectedProof(r, b), prove(t, d, p, c.Assignment(), r, b))
		})
	}
}

func duplicates(s synth.Shape) synth.Shape {
	s.Duplicates, s.DuplicateGroup = 0.9, 400
	return s
}

// maker makes circuits with their parameters on a card.
type maker struct{ card *ondevice.Maker }

func newMaker(t testing.TB) maker {
	t.Helper()
	card, err := ondevice.OpenFirst()
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, card.Close()) })
	return maker{card}
}

// circuit makes one; its points are freed when the test ends.
func (m maker) circuit(t testing.TB, shape synth.Shape, seed uint64) (*synth.Circuit, *srs.Params) {
	t.Helper()
	c, err := synth.New(shape, seed)
	require.NoError(t, err)
	set, err := m.card.Points(t.Context(), c.Exponents())
	require.NoError(t, err)
	t.Cleanup(set.Free)
	p, err := set.Params()
	require.NoError(t, err)
	return c, p
}
