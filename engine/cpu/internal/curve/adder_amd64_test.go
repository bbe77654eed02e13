package curve

import (
	"fmt"
	"testing"

	bls "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fp"
	"github.com/stretchr/testify/assert"

	"github.com/libcuzk/libcuzk/internal/modulus"
)

func addersG1() map[string]func(*testing.T, []bls.G1Affine) {
	m := map[string]func(*testing.T, []bls.G1Affine){
		"portable G1": func(t *testing.T, p []bls.G1Affine) { testAdder(t, NewPortableG1(), p) },
	}
	if HasIFMA {
		m["IFMA G1"] = func(t *testing.T, p []bls.G1Affine) { testAdder(t, NewG1(), p) }
	}
	return m
}

func addersG2() map[string]func(*testing.T, []bls.G2Affine) {
	m := map[string]func(*testing.T, []bls.G2Affine){
		"portable G2": func(t *testing.T, p []bls.G2Affine) { testAdder(t, NewPortableG2(), p) },
	}
	if HasIFMA {
		m["IFMA G2"] = func(t *testing.T, p []bls.G2Affine) { testAdder(t, NewG2(), p) }
	}
	return m
}

func testLoadByIndexHere(t *testing.T, g1 []bls.G1Affine, g2 []bls.G2Affine, at []uint32, check func(*testing.T, func(int, uint32) bool)) {
	if !HasIFMA {
		t.Log("no AVX-512 IFMA here: only the portable adders are tested")
		return
	}
	t.Run("IFMA G1", func(t *testing.T) {
		k := NewG1()
		arena := makeArena(k, len(at))
		k.Load(arena, g1, at)
		check(t, func(i int, j uint32) bool { return k.Store(&arena[i]) == g1[j] })
	})
	t.Run("IFMA G2", func(t *testing.T) {
		k := NewG2()
		arena := makeArena(k, len(at))
		k.Load(arena, g2, at)
		check(t, func(i int, j uint32) bool { return k.Store(&arena[i]) == g2[j] })
	})
}

func TestLimbsAndBack(t *testing.T) {
	for range 200 {
		var x fp.Element
		x.MustSetRandom()
		v := toLimbs(&x)
		assert.Equal(t, x, fromLimbs(&v))
	}
	// p itself, which the kernels may leave for zero.
	var v limbVector
	for j := range v {
		for bit := range limbBits {
			if at := j*limbBits + bit; at < 384 {
				v[j] |= modulus.P[at/64] >> (at % 64) & 1 << bit
			}
		}
	}
	assert.True(t, isZero(fromLimbs(&v)))
	assert.True(t, equalVectors([]limbVector{v}, []limbVector{{}}))
}

func isZero(x fp.Element) bool { return x.IsZero() }

func benchmarkAdder[A, P any](b *testing.B, k Adder[A, P], points []A) {
	for _, n := range []int{512, 4096} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			arena := make([]P, 3*n)
			k.Load(arena[:2*n], points[:2*n], nil)
			var pairs []Pair
			for i := range n {
				pairs = append(pairs, Pair{A: Ref(2 * i), B: Ref((2*i+77)%(2*n)) | Neg, Dst: Ref(2*n + i)})
			}
			for b.Loop() {
				k.Add(arena, pairs)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/pair")
		})
	}
}

func BenchmarkAdd(b *testing.B) {
	g1, g2 := randomPoints(8192)
	b.Run("portable G1", func(b *testing.B) { benchmarkAdder(b, NewPortableG1(), g1) })
	b.Run("portable G2", func(b *testing.B) { benchmarkAdder(b, NewPortableG2(), g2) })
	if HasIFMA {
		b.Run("IFMA G1", func(b *testing.B) { benchmarkAdder(b, NewG1(), g1) })
		b.Run("IFMA G2", func(b *testing.B) { benchmarkAdder(b, NewG2(), g2) })
	}
}
