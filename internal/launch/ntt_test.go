package launch_test

import (
	"fmt"
	"math/big"
	"math/bits"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/internal/launch"
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
			t.Helper()
			for _, f := range r.frequencies(n) {
				at := power(root, f)
				at.Mul(&at, &shift)
				require.Equal(t, evaluate(x, at), got[f], "%s of 2^%d, frequency %d", what, logSize, f)
			}
		}
		var unshift fr.Element
		unshift.Inverse(&g)
		for _, way := range []struct {
			direction   launch.Direction
			name        string
			root, shift fr.Element
		}{{launch.Forward, "forward", w, g}, {launch.Inverse, "inverse", back, unshift}} {
			for _, coset := range []bool{false, true} {
				what := fmt.Sprintf("%s, coset %v", way.name, coset)
				v := upload(r, x)
				r.Launch(tables.DIF(v, way.direction, coset)...)
				got := reversed(download[fr.Element](r, v, n))
				if coset { // undo the factors of the result
					var factor fr.Element
					factor.Inverse(&way.shift)
					scaleByPowers(got, factor)
				}
				check(got, way.root, fr.One(), "dif "+what)

				v = upload(r, reversed(x))
				r.Launch(tables.DIT(v, way.direction, coset)...)
				shift := fr.One()
				if coset {
					shift = way.shift
				}
				check(download[fr.Element](r, v, n), way.root, shift, "dit "+what)
			}
		}
	}
}

// scaleByPowers multiplies v[i] by x^i.
func scaleByPowers(v []fr.Element, x fr.Element) {
	at := fr.One()
	for i := range v {
		v[i].Mul(&v[i], &at)
		at.Mul(&at, &x)
	}
}

// Domains of three passes, where the factors after the second come from one
// table: there and back again gives the input times m.
func TestNTTInThreePasses(t *testing.T) {
	r := open(t)
	const logSize, n = 19, 1 << 19
	tables := r.tables(logSize)
	x, m := r.scalars(n), new(fr.Element).SetUint64(n)
	v := upload(r, x)
	r.Launch(tables.DIF(v, launch.Inverse, true)...)
	var at fr.Element
	back := launch.Root(logSize + 1) // element f is sum x_i g^-(2 i + 1) f
	back.Inverse(&back)
	got := reversed(download[fr.Element](r, v, n))
	for _, f := range []uint64{1, n - 1} {
		at = power(back, 2*f)
		want, shift := evaluate(x, at), power(back, f)
		require.Equal(t, *want.Mul(&want, &shift), got[f], "frequency %d", f)
	}
	r.Launch(tables.DIT(v, launch.Forward, true)...)
	for i := range x {
		x[i].Mul(&x[i], m)
	}
	requireSame(t, x, download[fr.Element](r, v, n), "there and back")
}

// Domains of different sizes share memory, in whatever order it is filled.
func TestTablesOfManyDomains(t *testing.T) {
	r := open(t)
	memory := r.memory(launch.TableBytes(20))
	var all []launch.Tables
	for _, log := range []uint32{10, 19, 4, 20, 13, 0} {
		tables, fill := launch.NewTables(log, memory)
		r.Launch(fill...)
		all = append(all, tables)
	}
	for _, tables := range all {
		if tables.LogSize == 20 && !onDevice() {
			continue // takes seconds
		}
		n := 1 << tables.LogSize
		x := r.scalars(n)
		v := upload(r, x)
		r.Launch(tables.DIF(v, launch.Forward, true)...)
		sum := power(launch.Root(tables.LogSize+1), uint64(n-1)) // times sum x_i g^(2 i (n-1))
		want := evaluate(x, power(sum, 2))
		want.Mul(&want, &sum)
		require.Equal(t, want, reversed(download[fr.Element](r, v, n))[n-1], "2^%d", tables.LogSize)
	}
}

func TestTableBytes(t *testing.T) {
	for log := range uint32(launch.MaxLogSize + 1) {
		bytes := launch.TableBytes(log)
		assert.Less(t, bytes, uint64(9<<20), "2^%d", log)
		_, fill := launch.NewTables(log, launch.Range{Addr: launch.Align, Bytes: bytes})
		assert.Len(t, fill, 3, "2^%d", log)
		if log > 18 {
			assert.Greater(t, bytes, launch.TableBytes(log-1), "2^%d has low powers of its own", log)
			assert.Panics(t, func() { launch.NewTables(log, launch.Range{Addr: launch.Align, Bytes: launch.TableBytes(log - 1)}) })
		}
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

func TestPowers(t *testing.T) {
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
	}
}
