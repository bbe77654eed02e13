package ntt

import (
	"math/big"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
)

func bigOf(k Scalar) *big.Int {
	x := new(big.Int)
	for i := 3; i >= 0; i-- {
		x.Lsh(x, 64).Add(x, new(big.Int).SetUint64(k[i]))
	}
	return x
}

// modulusLimbs is r as it would lie in memory, which no field element does.
func modulusLimbs() (x fr.Element) {
	for i, w := range fr.Modulus().Bits() {
		x[i] = uint64(w)
	}
	return x
}
