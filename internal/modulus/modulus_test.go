package modulus

import (
	"math/big"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fp"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/assert"
)

// around are values beside the modulus, and those that differ from it in one
// limb.
func around(modulus *big.Int, limbs int) map[string]*big.Int {
	values := map[string]*big.Int{
		"zero":         new(big.Int),
		"one less":     new(big.Int).Sub(modulus, big.NewInt(1)),
		"the modulus":  modulus,
		"one more":     new(big.Int).Add(modulus, big.NewInt(1)),
		"all bits set": new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), uint(64*limbs)), big.NewInt(1)),
	}
	for i := range limbs {
		step := new(big.Int).Lsh(big.NewInt(1), uint(64*i))
		values["less in a limb "+step.String()] = new(big.Int).Sub(modulus, step)
		values["more in a limb "+step.String()] = new(big.Int).Add(modulus, step)
	}
	return values
}

func TestBelow(t *testing.T) {
	for name, value := range around(fr.Modulus(), fr.Limbs) {
		var x fr.Element
		copy(x[:], limbs(value))
		assert.Equal(t, value.Cmp(fr.Modulus()) < 0, BelowR(&x), "r: %s", name)
	}
	for name, value := range around(fp.Modulus(), fp.Limbs) {
		var x fp.Element
		copy(x[:], limbs(value))
		assert.Equal(t, value.Cmp(fp.Modulus()) < 0, BelowP(&x), "p: %s", name)
	}
}
