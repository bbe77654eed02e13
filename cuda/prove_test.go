package cuda

import (
	"context"
	"os"
	"sync/atomic"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/engine/backend"
	"github.com/libcuzk/libcuzk/engine/groth16"
	"github.com/libcuzk/libcuzk/engine/srs"
	"github.com/libcuzk/libcuzk/internal/circuits/gv"
	"github.com/libcuzk/libcuzk/internal/circuits/synth"
	"github.com/libcuzk/libcuzk/internal/cudatest"
	"github.com/libcuzk/libcuzk/tests/cudasim"
	"github.com/libcuzk/libcuzk/tests/golden"
)

// onCard reports whether tests run on a card: CUZK_REQUIRE_GPU=1.
func onCard() bool { return os.Getenv(cudatest.RequireVariable) == "1" }

// needsFaults skips a test on a card, which does not fail on demand.
func needsFaults(t *testing.T) {
	t.Helper()
	if onCard() {
		t.Skip("faults on demand need the simulator")
	}
}

// open opens device 0: of a card with CUZK_REQUIRE_GPU=1, else of the
// simulator, which is nil on a card.
func open(t testing.TB, o Options, c cudasim.Config) (*device, *cudasim.Sim) {
	t.Helper()
	var sim *cudasim.Sim
	if !onCard() {
		sim = cudasim.New(t, c)
	}
	opened, err := NewProvider(o).Open(0)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, opened.Close()) })
	return opened.(*device), sim
}

// prove computes the proof of one assignment and checks what Prove promises.
func prove(t testing.TB, d backend.Device, p *srs.Params, a *groth16.Assignment, r, s fr.Element) groth16.Proof {
	t.Helper()
	require.NoError(t, groth16.Validate(a, p.Counts()))
	require.NoError(t, d.Load(context.Background(), p))
	var read atomic.Int64
	sums, err := d.Prove(context.Background(), &backend.Partition{
		Params: p, Assignment: a,
		RowsRead: func() { read.Add(1) },
		Stage:    func(string, float64) {},
	})
	require.NoError(t, err)
	require.EqualValues(t, 1, read.Load(), "RowsRead is called once")
	proof, err := groth16.Assemble(p.VerifyingKey(), sums, &r, &s)
	require.NoError(t, err)
	return *proof
}

func TestGoldenProofs(t *testing.T) {
	d, _ := open(t, Options{}, cudasim.Config{Declared: true})
	golden.Each(t, func(t *testing.T, c golden.Case) {
		if c.Name == "sha512" && !onCard() && testing.Short() {
			t.Skip("2^16 rows take about 20 s on the simulator")
		}
		p, err := srs.Open(c.Params, srs.Options{})
		require.NoError(t, err)
		defer func() { assert.NoError(t, p.Release()) }()
		defer d.Drop(p)
		for _, path := range c.Witnesses {
			f, err := gv.Read(path)
			require.NoError(t, err)
			assert.Equal(t, *f.Proof, prove(t, d, p, &f.Assignment, f.R, f.S), path)
		}
	})
}

// circuit makes a circuit with its parameters.
func circuit(t testing.TB, shape synth.Shape, seed uint64) (*synth.Circuit, *srs.Params) {
	t.Helper()
	c, err := synth.New(shape, seed)
	require.NoError(t, err)
	p, err := c.Params()
	require.NoError(t, err)
	return c, p
}

func TestGeneratedCircuits(t *testing.T) {
	dense := synth.Dense
	for name, test := range map[string]struct {
		shape   synth.Shape
		options Options
	}{
		"a single row":                  {synth.Shape{Rows: 1, Inputs: 1}, Options{}},
		"two rows":                      {dense(2, 1), Options{}},
		"rows just above a power":       {dense(17, 3), Options{}},
		"all dense":                     {dense(128, 4), Options{}},
		"like a PoRep":                  {synth.PoRepLike(700, 40), Options{}},
		"many inputs":                   {synth.PoRepLike(900, 500), Options{}},
		"the list overflows":            {dense(200, 5), Options{ListScalars: 50}},
		"the list overflows many times": {dense(100, 2), Options{ListScalars: 9}},
	} {
		t.Run(name, func(t *testing.T) {
			d, _ := open(t, test.options, cudasim.Config{})
			c, p := circuit(t, test.shape, 1)
			defer func() { assert.NoError(t, p.Release()) }()
			r, s := c.Blinding()
			assert.Equal(t, c.ExpectedProof(r, s), prove(t, d, p, c.Assignment(), r, s))
		})
	}
}
