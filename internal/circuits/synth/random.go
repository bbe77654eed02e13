package synth

import (
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/libcuzk/libcuzk/internal/modulus"
)

// stream is a sequence of random numbers in which any place can be looked up,
// so that goroutines, rows and columns can draw independently.
type stream uint64

// The streams of a circuit.
const (
	streamTrapdoor = iota
	streamBlinding
	streamInputs
	streamAux
	streamSigns
	streamDensityA
	streamDensityB
	streamDensityBInputs
	streamInC
	streamRowsA
	streamRowsB
	streamCoefficientsA
	streamCoefficientsB
	streamCoefficientsC
)

// Increment of SplitMix64. Source: Steele, Lea, Flood, "Fast splittable
// pseudorandom number generators", OOPSLA 2014, §4.
const increment = 0x9e3779b97f4a7c15

// mix is the finalizer of SplitMix64, from the same source.
func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

func newStream(seed uint64, name uint64) stream {
	return stream(mix(mix(seed+increment) + (name+1)*increment))
}

// word is the k-th word of place i.
func (s stream) word(i, k int) uint64 {
	return mix(mix(uint64(s)+uint64(i)*increment) + uint64(k)*increment)
}

// fraction is uniform in [0, 1).
func (s stream) fraction(i int) float64 {
	const mantissa = 53
	return float64(s.word(i, 0)>>(64-mantissa)) / (1 << mantissa)
}

// scalar is uniform below r: 255 random bits, drawn again until they are.
// Uniform limbs are as uniform in Montgomery form as in any other.
func (s stream) scalar(i int) fr.Element {
	for k := 1; ; k += fr.Limbs {
		var z fr.Element
		for limb := range z {
			z[limb] = s.word(i, k+limb)
		}
		z[fr.Limbs-1] >>= fr.Limbs*64 - fr.Bits
		if modulus.BelowR(&z) {
			return z
		}
	}
}
