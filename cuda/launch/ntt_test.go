package launch_test

import (
	"fmt"
	"math/big"
	"math/bits"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/cuda/launch"
)

func (r *rig) tables(logSize int) launch.Tables {
	t, calls := launch.NewTables(uint32(logSize), r.memory(launch.TableBytes(uint32(logSize))))
	r.Launch(calls...)
	return t
}

func power(x fr.Element, e uint64) fr.Element {
	return *new(fr.Element).Exp(x, new(big.Int).SetUint64(e))
}

// evaluate is sum c_i x^i.
func evaluate(c []fr.Element, x fr.Element) (sum fr.Element) {
	for i := len(c) - 1; i >= 0; i-- {
		sum.Mul(&sum, &x)
		sum.Add(&sum, &c[i])
	}
	return sum
}

func reversed(v []fr.Element) []fr.Element {
	logSize := bits.Len(uint(len(v))) - 1
	out := make([]fr.Element, len(v))
	for i := range v {
		out[bits.Reverse64(uint64(i))>>1>>(63-logSize)] = v[i]
	}
	return out
}

// frequencies picks all of a small domain and some of a large one.
func (r *rig) frequencies(n int) []uint64 {
	if n <= 256 {
		all := make([]uint64, n)
		for i := range all {
			all[i] = uint64(i)
		}
		return all
	}
	some := []uint64{0, 1, 2, uint64(n/2 - 1), uint64(n / 2), uint64(n - 1)}
	for range 10 {
		some = append(some, r.random.Uint64N(uint64(n)))
	}
	return some
}

func TestRootIsPrimitive(t *testing.T) {
	for log := uint32(1); log <= 32; log++ {
		minusOne := power(launch.Root(log), 1<<(log-1))
		assert.True(t, minusOne.Neg(&minusOne).IsOne(), "order 2^%d", log)
	}
}

func TestNTT(t *testing.T) {
	r := open(t)
	for _, logSize := range sizes([]int{0, 1, 2, 3, 4, 5, 8, 9, 10, 11, 12, 13}, []int{14, 16, 18, 19, 20, 21}) {
		n := 1 << logSize
		tables := r.tables(logSize)
		x := r.scalars(n)
		w, g := launch.Root(uint32(logSize)), launch.Root(uint32(logSize+1))
		var back fr.Element
		back.Inverse(&w)
		check := func(got []fr.Element, root, shift fr.Element, what string) {
			for _, f := range r.frequencies(n) {
				at := power(root, f)
				at.Mul(&at, &shift)
				require.Equal(t, evaluate(x, at), got[f], "%s of 2^%d, frequency %d", what, logSize, f)
			}
		}
		natural, shuffled := upload(r, x), upload(r, reversed(x))
		r.Launch(tables.DIF(natural, launch.Forward)...)
		check(reversed(download[fr.Element](r, natural, n)), w, fr.One(), "dif")
		r.Launch(tables.DIT(shuffled, launch.Forward, true)...)
		check(download[fr.Element](r, shuffled, n), w, g, "dit on the coset")

		natural, shuffled = upload(r, x), upload(r, reversed(x))
		r.Launch(tables.DIF(natural, launch.Inverse)...)
		check(reversed(download[fr.Element](r, natural, n)), back, fr.One(), "inverse dif")
		r.Launch(tables.DIT(shuffled, launch.Inverse, false)...)
		check(download[fr.Element](r, shuffled, n), back, fr.One(), "inverse dit")
	}
}

// interpolated is the value at z of the polynomial that has values v on the
// domain: (z^m - 1) / m sum v_i w^i / (z - w^i).
func interpolated(v []fr.Element, z fr.Element) fr.Element {
	m := len(v)
	w := launch.Root(uint32(bits.Len(uint(m)) - 1))
	denominators, at := make([]fr.Element, m), fr.One()
	weights := make([]fr.Element, m)
	for i := range v {
		denominators[i].Sub(&z, &at)
		weights[i].Mul(&v[i], &at)
		at.Mul(&at, &w)
	}
	sum := dot(weights, fr.BatchInvert(denominators))
	scale := vanishing(z, m)
	var size fr.Element
	size.SetUint64(uint64(m))
	sum.Mul(&sum, &scale)
	return *sum.Div(&sum, &size)
}

func vanishing(z fr.Element, m int) fr.Element {
	one := fr.One()
	v := power(z, uint64(m))
	return *v.Sub(&v, &one)
}

// h (z^m - 1) = A B - C holds as polynomials, so it is checked at a random z.
func TestQuotient(t *testing.T) {
	r := open(t)
	for _, logSize := range sizes([]int{0, 1, 2, 3, 5, 9, 10, 13}, []int{16, 19, 20}) {
		m := 1 << logSize
		tables := r.tables(logSize)
		for _, n := range []int{m, max(m-1, 1), max(3*m/4, 1), 1} {
			a, b := r.scalars(m), r.scalars(m)
			blockA, blockB := upload(r, a), upload(r, b) // rows from n on hold garbage
			blockC, bad := r.memory(blockA.Bytes), upload(r, []uint32{launch.None})
			q := tables.NewQuotient(blockA, blockB, blockC, bad, uint32(n))
			r.Launch(q.Rows...)
			r.Launch(q.Combine...)

			clear(a[n:])
			clear(b[n:])
			c := make([]fr.Element, m)
			for i := range c {
				c[i].Mul(&a[i], &b[i])
			}
			z := r.scalar()
			want, wantA, wantB := interpolated(c, z), interpolated(a, z), interpolated(b, z)
			wantA.Mul(&wantA, &wantB)
			want.Sub(&wantA, &want)
			got := evaluate(reversed(download[fr.Element](r, blockA, m)), z)
			zero := vanishing(z, m)
			got.Mul(&got, &zero)
			require.Equal(t, want, got, "m = %d, n = %d", m, n)
			require.Equal(t, launch.None, download[uint32](r, bad, 1)[0])
		}
	}
}

func TestQuotientFindsScalarsNotBelowTheModulus(t *testing.T) {
	r := open(t)
	var modulus fr.Element // the limbs of r itself, which no residue has
	for i, word := range fr.Modulus().Bits() {
		modulus[i] = uint64(word)
	}
	const m = 1024
	tables := r.tables(10)
	for _, where := range []int{0, 1, 500, m - 1} {
		for _, inB := range []bool{false, true} {
			v := [2][]fr.Element{r.scalars(m), r.scalars(m)}
			which := 0
			if inB {
				which = 1
			}
			v[which][where] = modulus
			a, b, bad := upload(r, v[0]), upload(r, v[1]), upload(r, []uint32{launch.None})
			r.Launch(tables.NewQuotient(a, b, r.memory(a.Bytes), bad, m).Rows[0])
			assert.Equal(t, uint32(where), download[uint32](r, bad, 1)[0])
		}
	}
}

func TestPowersAndInverses(t *testing.T) {
	r := open(t)
	for _, n := range sizes([]int{1, 2, 3, 7, 8, 9, 1000}, []int{1 << 18}) {
		base, scale := r.scalar(), r.scalar()
		out := r.memory(uint64(n) * launch.FrBytes)
		r.Launch(launch.Powers(out, base, scale, 5, 3, uint32(n)))
		want := make([]fr.Element, n)
		step := power(base, 3)
		want[0] = power(base, 5)
		want[0].Mul(&want[0], &scale)
		for i := 1; i < n; i++ {
			want[i].Mul(&want[i-1], &step)
		}
		requireSame(t, want, download[fr.Element](r, out, n), fmt.Sprintf("powers, n = %d", n))

		want[n/2].SetZero()
		v := upload(r, want)
		r.Launch(launch.Invert(v, r.memory(v.Bytes), uint32(n)))
		requireSame(t, fr.BatchInvert(want), download[fr.Element](r, v, n), fmt.Sprintf("inverses, n = %d", n))
	}
}
