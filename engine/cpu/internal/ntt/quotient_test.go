package ntt

import (
	"context"
	"fmt"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/internal/hostmem"
)

// maker makes a plan; the tests run for every kernel.
type maker func(*hostmem.Pool, int) (Plan, error)

func makers() map[string]maker {
	m := map[string]maker{"portable": New}
	if vector := vectorMaker(); vector != nil {
		m["vector"] = vector
	}
	return m
}

func randomRows(n int) []fr.Element {
	rows := make([]fr.Element, n)
	for i := range rows {
		rows[i].MustSetRandom()
	}
	return rows
}

// evaluate returns the values of the polynomial at shift·w^j, j < m, by
// Horner's rule.
func evaluate(coefficients []fr.Element, shift, w fr.Element) []fr.Element {
	out, at := make([]fr.Element, len(coefficients)), shift
	for j := range out {
		for i := len(coefficients) - 1; i >= 0; i-- {
			out[j].Mul(&out[j], &at).Add(&out[j], &coefficients[i])
		}
		at.Mul(&at, &w)
	}
	return out
}

// interpolate undoes evaluate: the inverse DFT is a DFT with the inverse root,
// divided by m; then coefficient i is divided by shift^i.
func interpolate(values []fr.Element, shift, w fr.Element) []fr.Element {
	var inverse, power fr.Element
	out := evaluate(values, fr.One(), *inverse.Inverse(&w))
	power.SetUint64(uint64(len(values))).Inverse(&power)
	inverse.Inverse(&shift)
	for i := range out {
		out[i].Mul(&out[i], &power)
		power.Mul(&power, &inverse)
	}
	return out
}

// naive is the form with seven transforms and the coset shift 7:
// h = (A·B - C)/(7^m - 1) on the coset.
func naive(m int, a, b []fr.Element) []Scalar {
	pad := func(x []fr.Element) []fr.Element {
		return append(append([]fr.Element{}, x...), make([]fr.Element, m-len(x))...)
	}
	a, b = pad(a), pad(b)
	c := make([]fr.Element, m)
	for i := range c {
		c[i].Mul(&a[i], &b[i])
	}
	psi, _ := root(m)
	var w fr.Element
	w.Square(&psi)
	one, shift := fr.One(), fr.NewElement(7)
	coset := func(x []fr.Element) []fr.Element { return evaluate(interpolate(x, one, w), shift, w) }
	a, b, c = coset(a), coset(b), coset(c)

	divisor := one
	for range m {
		divisor.Mul(&divisor, &shift)
	}
	divisor.Sub(&divisor, &one)
	for i := range a {
		a[i].Mul(&a[i], &b[i]).Sub(&a[i], &c[i]).Div(&a[i], &divisor)
	}
	out := make([]Scalar, m)
	for i, x := range interpolate(a, shift, w) {
		out[i] = x.Bits()
	}
	return out
}

func TestQuotientEqualsTheSevenTransforms(t *testing.T) {
	for name, makePlan := range makers() {
		for m := 1; m <= 256; m *= 2 {
			for _, rows := range []int{m, m/2 + 1, 1} {
				for _, workers := range []int{1, 3} {
					t.Run(fmt.Sprintf("%s, m = %d, %d rows, %d workers", name, m, rows, workers), func(t *testing.T) {
						pool := new(hostmem.Pool)
						defer pool.Close()
						plan, err := makePlan(pool, m)
						require.NoError(t, err)
						a, b := randomRows(rows), randomRows(rows)
						h := make([]Scalar, m)
						read := 0
						require.NoError(t, plan.Quotient(t.Context(), workers, a, b, func() { read++ }, h))
						assert.Equal(t, naive(m, a, b), h)
						assert.Zero(t, h[m-1], "h has degree at most m-2")
						assert.Equal(t, 1, read)
						plan.Close()
						inUse, _ := pool.UsedBytes()
						assert.Zero(t, inUse)
					})
				}
			}
		}
	}
}

// TestQuotientAtAPoint checks A·B - C = h·(x^m - 1) at a random x, for domains
// that are too large for the naive form.
func TestQuotientAtAPoint(t *testing.T) {
	for name, makePlan := range makers() {
		for _, log := range []int{11, 13, 14, 16} {
			t.Run(fmt.Sprintf("%s, 2^%d", name, log), func(t *testing.T) {
				m := 1 << log
				pool := new(hostmem.Pool)
				defer pool.Close()
				plan, err := makePlan(pool, m)
				require.NoError(t, err)
				defer plan.Close()
				a, b := randomRows(m-5), randomRows(m-5)
				c := make([]fr.Element, m-5)
				for i := range c {
					c[i].Mul(&a[i], &b[i])
				}
				h := make([]Scalar, m)
				require.NoError(t, plan.Quotient(t.Context(), 2, a, b, func() {}, h))

				x := randomRows(1)[0]
				left, right := barycentric(m, a, x), barycentric(m, b, x)
				left.Mul(&left, &right)
				right = barycentric(m, c, x)
				left.Sub(&left, &right)
				assert.Equal(t, left, timesVanishing(m, h, x))
			})
		}
	}
}

// barycentric returns the value at x of the polynomial with the given values
// at the m-th roots of unity: (x^m - 1)/m · Σ values_j·w^j/(x - w^j).
func barycentric(m int, values []fr.Element, x fr.Element) fr.Element {
	psi, _ := root(m)
	var w, sum, factor fr.Element
	w.Square(&psi)
	denominators, powers := make([]fr.Element, len(values)), make([]fr.Element, len(values))
	at := fr.One()
	for j := range values {
		powers[j] = at
		denominators[j].Sub(&x, &at)
		at.Mul(&at, &w)
	}
	for j, d := range fr.BatchInvert(denominators) {
		d.Mul(&d, &powers[j]).Mul(&d, &values[j])
		sum.Add(&sum, &d)
	}
	factor.SetUint64(uint64(m)).Inverse(&factor).Mul(&factor, &sum)
	v := vanishing(m, x)
	return *factor.Mul(&factor, &v)
}

func vanishing(m int, x fr.Element) fr.Element {
	one := fr.One()
	for ; m > 1; m /= 2 {
		x.Square(&x)
	}
	return *x.Sub(&x, &one)
}

func timesVanishing(m int, h []Scalar, x fr.Element) fr.Element {
	var sum fr.Element
	for i := len(h) - 1; i >= 0; i-- {
		var k fr.Element
		k.SetBigInt(bigOf(h[i]))
		sum.Mul(&sum, &x).Add(&sum, &k)
	}
	v := vanishing(m, x)
	return *sum.Mul(&sum, &v)
}

func TestQuotientRefusesScalarsNotBelowTheModulus(t *testing.T) {
	for name, makePlan := range makers() {
		for _, m := range []int{1, 8, 1024} {
			for _, vector := range []string{"a", "b"} {
				t.Run(fmt.Sprintf("%s, m = %d, %s", name, m, vector), func(t *testing.T) {
					pool := new(hostmem.Pool)
					defer pool.Close()
					plan, err := makePlan(pool, m)
					require.NoError(t, err)
					defer plan.Close()
					rows := map[string][]fr.Element{"a": randomRows(m), "b": randomRows(m)}
					at := m * 3 / 4
					rows[vector][at] = modulusLimbs()
					read := 0
					err = plan.Quotient(t.Context(), 2, rows["a"], rows["b"], func() { read++ }, make([]Scalar, m))
					var bad *RangeError
					require.ErrorAs(t, err, &bad)
					assert.Equal(t, RangeError{vector, at}, *bad)
					assert.Equal(t, 1, read)
				})
			}
		}
	}
}

func TestQuotientStopsWhenCancelled(t *testing.T) {
	for name, makePlan := range makers() {
		t.Run(name, func(t *testing.T) {
			pool := new(hostmem.Pool)
			defer pool.Close()
			plan, err := makePlan(pool, 1024)
			require.NoError(t, err)
			defer plan.Close()
			ctx, cancel := context.WithCancel(t.Context())
			rows := randomRows(1024)
			err = plan.Quotient(ctx, 2, rows, rows, cancel, make([]Scalar, 1024))
			require.ErrorIs(t, err, context.Canceled)
		})
	}
}

func TestPlansOfImpossibleDomainsAreRefused(t *testing.T) {
	_, err := New(new(hostmem.Pool), 1<<32)
	require.ErrorContains(t, err, "at most 2^31")
}

func BenchmarkQuotient(b *testing.B) {
	for name, makePlan := range makers() {
		for _, log := range []int{10, 16, 18} {
			b.Run(fmt.Sprintf("%s/2^%d", name, log), func(b *testing.B) {
				m := 1 << log
				pool := new(hostmem.Pool)
				defer pool.Close()
				plan, err := makePlan(pool, m)
				require.NoError(b, err)
				rows, h := randomRows(m), make([]Scalar, m)
				for b.Loop() {
					require.NoError(b, plan.Quotient(b.Context(), 1, rows, rows, func() {}, h))
				}
			})
		}
	}
}
