//go:build !amd64

package msm

import (
	"testing"

	bls "github.com/consensys/gnark-crypto/ecc/bls12-381"
)

func checkVectorG1(*testing.T, []bls.G1Affine, []Scalar, bls.G1Jac, bls.G1Jac) {}

func checkVectorG2(*testing.T, []bls.G2Affine, []Scalar, bls.G2Jac, bls.G2Jac) {}

func benchmarkVector(*testing.B, int, []bls.G1Affine, []Scalar) {}
