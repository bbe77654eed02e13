// Package modulus has the two moduli of BLS12-381 as 64-bit limbs, for
// comparisons of values as they lie in memory. An operation of gnark-crypto is
// defined only for values below the modulus.
package modulus

import (
	"math/big"
	"math/bits"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fp"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
)

// R is the modulus of scalars and P that of coordinates, least significant limb
// first.
var (
	R = [fr.Limbs]uint64(limbs(fr.Modulus()))
	P = [fp.Limbs]uint64(limbs(fp.Modulus()))
)

func limbs(m *big.Int) []uint64 {
	l := make([]uint64, len(m.Bits()))
	for i, w := range m.Bits() {
		l[i] = uint64(w)
	}
	return l
}

// BelowR reports whether x, as it lies in memory, is below R. It is unrolled:
// every scalar of a partition passes it.
func BelowR(x *fr.Element) bool {
	_, borrow := bits.Sub64(x[0], R[0], 0)
	_, borrow = bits.Sub64(x[1], R[1], borrow)
	_, borrow = bits.Sub64(x[2], R[2], borrow)
	_, borrow = bits.Sub64(x[3], R[3], borrow)
	return borrow == 1
}

// BelowP reports whether x, as it lies in memory, is below P.
func BelowP(x *fp.Element) bool {
	var borrow uint64
	for i := range x {
		_, borrow = bits.Sub64(x[i], P[i], borrow)
	}
	return borrow == 1
}
