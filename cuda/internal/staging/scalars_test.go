package staging

import (
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/assert"
)

func TestCopyChecked(t *testing.T) {
	const n = 2*cacheScalars + 3
	last := fr.Element{}
	last.SetInt64(-1)
	for name, test := range map[string]struct {
		change func([]fr.Element)
		want   int
	}{
		"all below the modulus":     {func([]fr.Element) {}, -1},
		"the modulus itself":        {func(x []fr.Element) { x[0] = fr.Element(modulusLimbs()) }, 0},
		"in the last, partial part": {func(x []fr.Element) { x[n-1] = fr.Element{0, 0, 0, 1 << 63} }, n - 1},
		"the first of two": {func(x []fr.Element) {
			x[cacheScalars], x[n-2] = fr.Element{1 << 63, 0, 0, 1 << 63}, fr.Element{0, 0, 0, 1<<64 - 1}
		}, cacheScalars},
		"one less than the modulus": {func(x []fr.Element) {
			m := modulusLimbs()
			m[0]--
			x[5] = m
		}, -1},
	} {
		t.Run(name, func(t *testing.T) {
			from := make([]fr.Element, n)
			for i := range from {
				from[i].SetRandom()
			}
			test.change(from)
			to := make([]fr.Element, n)
			assert.Equal(t, test.want, copyChecked(to, from))
			if test.want < 0 {
				assert.Equal(t, from, to)
			}
		})
	}
}

func modulusLimbs() (m [fr.Limbs]uint64) {
	for i, w := range fr.Modulus().Bits() {
		m[i] = uint64(w)
	}
	return m
}
