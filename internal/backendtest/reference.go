package backendtest

import (
	"testing"

	"github.com/consensys/gnark-crypto/ecc"
	bls "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr/fft"
	"github.com/consensys/gnark-crypto/utils"
	"github.com/stretchr/testify/assert"

	"github.com/libcuzk/libcuzk/engine/groth16"
	"github.com/libcuzk/libcuzk/engine/srs"
)

// reference computes the five sums from their definitions.
func reference(p *srs.Points, a *groth16.Assignment) groth16.Sums {
	inA := append(append([]fr.Element{}, a.Inputs...), picked(a.Aux, a.AAux)...)
	inB := append(picked(a.Inputs, a.BInputs), picked(a.Aux, a.BAux)...)
	return groth16.Sums{
		H:  sumG1(p.H, quotient(a.A, a.B)[:len(p.H)]),
		L:  sumG1(p.L, a.Aux),
		A:  sumG1(p.A, inA),
		B1: sumG1(p.BG1, inB),
		B2: sumG2(p.BG2, inB),
	}
}

func picked(x []fr.Element, d groth16.Density) []fr.Element {
	var out []fr.Element
	for i := range x {
		if d.Has(i) {
			out = append(out, x[i])
		}
	}
	return out
}

// quotient is (A·B - C)/(X^m - 1) in the form with seven transforms and the
// coset shift 7, C from c = a·b.
func quotient(a, b []fr.Element) []fr.Element {
	m := groth16.Domain(len(a))
	domain := fft.NewDomain(uint64(m))
	x, y, z := make([]fr.Element, m), make([]fr.Element, m), make([]fr.Element, m)
	copy(x, a)
	copy(y, b)
	for i := range z {
		z[i].Mul(&x[i], &y[i])
	}
	for _, v := range [][]fr.Element{x, y, z} {
		domain.FFTInverse(v, fft.DIF)
		domain.FFT(v, fft.DIT, fft.OnCoset())
	}
	divisor, one := domain.FrMultiplicativeGen, fr.One()
	for i := 1; i < m; i *= 2 {
		divisor.Square(&divisor)
	}
	divisor.Sub(&divisor, &one).Inverse(&divisor)
	for i := range x {
		x[i].Mul(&x[i], &y[i]).Sub(&x[i], &z[i]).Mul(&x[i], &divisor)
	}
	domain.FFTInverse(x, fft.DIF, fft.OnCoset())
	utils.BitReverse(x)
	return x
}

func sumG1(points []bls.G1Affine, scalars []fr.Element) (sum bls.G1Jac) {
	if _, err := sum.MultiExp(points, scalars, ecc.MultiExpConfig{}); err != nil {
		panic("BUG: backendtest: " + err.Error())
	}
	return sum
}

func sumG2(points []bls.G2Affine, scalars []fr.Element) (sum bls.G2Jac) {
	if _, err := sum.MultiExp(points, scalars, ecc.MultiExpConfig{}); err != nil {
		panic("BUG: backendtest: " + err.Error())
	}
	return sum
}

func (c *instance) checkEqual(t testing.TB, got *groth16.Sums) {
	t.Helper()
	assert.True(t, got.H.Equal(&c.want.H), "H")
	assert.True(t, got.L.Equal(&c.want.L), "L")
	assert.True(t, got.A.Equal(&c.want.A), "A")
	assert.True(t, got.B1.Equal(&c.want.B1), "B1")
	assert.True(t, got.B2.Equal(&c.want.B2), "B2")
}
