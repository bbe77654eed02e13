package cuda

import (
	"context"
	"math/big"
	"testing"

	bls "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/engine/backend"
	"github.com/libcuzk/libcuzk/engine/srs"
	"github.com/libcuzk/libcuzk/engine/synth"
	"github.com/libcuzk/libcuzk/tests/cudasim"
)

func TestMultiply(t *testing.T) {
	d, _ := open(t, Options{}, cudasim.Config{})
	_, _, g1, g2 := bls.Generators()
	for name, n := range map[string]int{"none": 0, "one": 1, "some": 70} {
		t.Run(name, func(t *testing.T) {
			scalars := witness(n, 1, 1, 2)
			got1, err := MultiplyG1(context.Background(), d, g1, scalars)
			require.NoError(t, err)
			got2, err := MultiplyG2(context.Background(), d, g2, scalars)
			require.NoError(t, err)
			want1, want2 := make([]bls.G1Affine, n), make([]bls.G2Affine, n)
			for i, s := range scalars {
				want1[i].ScalarMultiplication(&g1, s.BigInt(new(big.Int)))
				want2[i].ScalarMultiplication(&g2, s.BigInt(new(big.Int)))
			}
			assert.Equal(t, want1, got1)
			assert.Equal(t, want2, got2)
		})
	}
}

// circuitOn makes a circuit with its parameters, multiplied on the device.
func circuitOn(t testing.TB, d backend.Device, shape synth.Shape, seed uint64) (*synth.Circuit, *srs.Params) {
	t.Helper()
	c, err := synth.New(shape, seed)
	require.NoError(t, err)
	e := c.Exponents()
	_, _, base1, base2 := bls.Generators()
	g1 := func(scalars []fr.Element) []bls.G1Affine {
		points, err := MultiplyG1(context.Background(), d, base1, scalars)
		require.NoError(t, err)
		return points
	}
	g2 := func(scalars []fr.Element) []bls.G2Affine {
		points, err := MultiplyG2(context.Background(), d, base2, scalars)
		require.NoError(t, err)
		return points
	}
	p, err := srs.New(e.VerifyingKey(), &srs.Points{H: g1(e.H), L: g1(e.L), A: g1(e.A), BG1: g1(e.B), BG2: g2(e.B)})
	require.NoError(t, err)
	return c, p
}
