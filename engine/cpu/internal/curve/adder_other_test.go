//go:build !amd64

package curve

import (
	"testing"

	bls "github.com/consensys/gnark-crypto/ecc/bls12-381"
)

func addersG1() map[string]func(*testing.T, []bls.G1Affine) {
	return map[string]func(*testing.T, []bls.G1Affine){
		"portable G1": func(t *testing.T, p []bls.G1Affine) { testAdder(t, NewPortableG1(), p) },
	}
}

func addersG2() map[string]func(*testing.T, []bls.G2Affine) {
	return map[string]func(*testing.T, []bls.G2Affine){
		"portable G2": func(t *testing.T, p []bls.G2Affine) { testAdder(t, NewPortableG2(), p) },
	}
}

func testLoadByIndexHere(*testing.T, []bls.G1Affine, []bls.G2Affine, []uint32, func(*testing.T, func(int, uint32) bool)) {
}
