package msm

import (
	"fmt"
	"testing"

	bls "github.com/consensys/gnark-crypto/ecc/bls12-381"

	"github.com/libcuzk/libcuzk/engine/cpu/internal/curve"
	"github.com/libcuzk/libcuzk/internal/hostmem"
)

// checkVectorG1 is check with the vector kernels, where the processor has them.
func checkVectorG1(t *testing.T, points []bls.G1Affine, scalars []Scalar, want, wantOnes bls.G1Jac) {
	if curve.HasIFMA {
		check(t, vectorG1(t), points, scalars, want, wantOnes)
	}
}

// checkVectorG2 is checkVectorG1 in G2.
func checkVectorG2(t *testing.T, points []bls.G2Affine, scalars []Scalar, want, wantOnes bls.G2Jac) {
	if curve.HasIFMA {
		pool := new(hostmem.Pool)
		t.Cleanup(pool.Close)
		check(t, &Group[bls.G2Affine, curve.PointG2, bls.G2Jac]{Pool: pool, NewAdder: curve.NewG2}, points, scalars, want, wantOnes)
	}
}

func vectorG1(t testing.TB) *Group[bls.G1Affine, curve.PointG1, bls.G1Jac] {
	pool := new(hostmem.Pool)
	t.Cleanup(pool.Close)
	return &Group[bls.G1Affine, curve.PointG1, bls.G1Jac]{Pool: pool, NewAdder: curve.NewG1}
}

func benchmarkVector(b *testing.B, log int, points []bls.G1Affine, scalars []Scalar) {
	if curve.HasIFMA {
		b.Run(fmt.Sprintf("IFMA 2^%d", log), func(b *testing.B) { benchmarkDense(b, vectorG1(b), points, scalars) })
	}
}
