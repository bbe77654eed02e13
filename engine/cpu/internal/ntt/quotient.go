// Package ntt computes the quotient polynomial h of a partition: six number
// theoretic transforms over the scalar field.
//
// For rows a, b (c = a·b on every row, so c is not read), padded with zeros to
// a power of two m, h is the polynomial with A·B - C = h·(X^m - 1). With ψ a
// primitive 2m-th root of unity, ψ^m = -1, so on the coset {ψ·ω^j} the divisor
// is -2 everywhere and
//
//	h = (INTT(c) - INTT_coset(A·B)) / 2
//
// where A and B on the coset come from the coefficients INTT(a), INTT(b). The
// polynomial C itself never goes to the coset.
//
// Everything is built on the tree that splits X^m - w² into X^(m/2) - w and
// X^(m/2) + w. Node j of the tree has w = ψ^rev(j), its halves are nodes 2j
// and 2j+1; the tree below node 0 belongs to X^m - 1, the one below node 1 to
// X^m + 1, whose roots are the coset. So one table serves all six transforms
// and the shift costs nothing. Values are in bit-reversed order, coefficients
// in natural order: rows are put in their places as they are read.
//
// Source: the splitting is that of Bernstein, "Multidigit multiplication for
// mathematicians" (2001), §4; the quotient: Groth, eprint 2016/260 §3.2.
package ntt

import (
	"context"
	"fmt"
	"math/big"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/libcuzk/libcuzk/internal/hostmem"
	"github.com/libcuzk/libcuzk/internal/par"
)

// Scalar is a canonical scalar, least significant limb first.
type Scalar = [4]uint64

// Plan computes quotients for one domain. Read only, so safe for concurrent
// use, until Close.
type Plan interface {
	// Quotient sets h[0:m] to the coefficients of the quotient, canonical and
	// in natural order. a and b have at most m rows; rowsRead is called as
	// soon as they are no longer read, or before an error is returned.
	//
	// Errors: *RangeError, context.Cause(ctx), hostmem.ErrNoMemory.
	Quotient(ctx context.Context, workers int, a, b []fr.Element, rowsRead func(), h []Scalar) error

	// Close gives the tables back.
	Close()
}

// RangeError says which scalar is not below the modulus.
type RangeError struct {
	Vector string // "a" or "b"
	Index  int
}

func (e *RangeError) Error() string {
	return fmt.Sprintf("ntt: %s[%d] is not below the modulus", e.Vector, e.Index)
}

// kernel is the arithmetic on a vector of m field elements, held as elements
// of V (one or several field elements each), in a form of its own.
type kernel[V any] interface {
	// elems is the number of field elements in a V.
	elems() int
	// load fills dst[lo:hi] with the rows in bit-reversed order. It returns
	// the index of a row that is not below the modulus, or -1.
	load(dst []V, rows []fr.Element, lo, hi int) int
	// mul sets dst[i] = x[i]·y[i], up to a constant that store makes good.
	mul(dst, x, y []V)
	// store sets h to the canonical (c - ab·κ)/2m, where κ makes good the
	// factors of c and ab.
	store(h []Scalar, c, ab []V)

	// forward2 does node j on the two halves of a block, forward4 node j and
	// its two children on the four quarters; inverse2 and inverse4 undo them
	// but for a factor of 2 or 4.
	forward2(x0, x1 []V, j int)
	forward4(x0, x1, x2, x3 []V, j int)
	inverse2(x0, x1 []V, j int)
	inverse4(x0, x1, x2, x3 []V, j int)
	// forwardLeaves does what is left inside each x[i], whose node is j+i.
	forwardLeaves(x []V, j int)
	inverseLeaves(x []V, j int)

	close()
}

// plan is the part of a Plan that is the same for every kernel.
type plan[V any] struct {
	kernel[V]
	pool *hostmem.Pool
	m    int
}

// New returns the portable plan of a domain of m, a power of two up to 2^31.
func New(pool *hostmem.Pool, m int) (Plan, error) {
	k, err := newPortable(pool, m)
	if err != nil {
		return nil, err
	}
	return &plan[fr.Element]{kernel: k, pool: pool, m: m}, nil
}

// Close implements Plan.
func (p *plan[V]) Close() { p.close() }

// Quotient implements Plan. It holds three vectors of m field elements.
func (p *plan[V]) Quotient(ctx context.Context, workers int, a, b []fr.Element, rowsRead func(), h []Scalar) error {
	n := p.m / p.elems()
	buffer, err := hostmem.Get[V](p.pool, 3*n)
	if err != nil {
		rowsRead()
		return fmt.Errorf("ntt: three vectors of %d: %w", p.m, err)
	}
	defer buffer.Release()
	va, vb, vc := buffer.Data[:n], buffer.Data[n:2*n], buffer.Data[2*n:3*n]

	err = p.loadRows(ctx, workers, a, b, va, vb, vc)
	rowsRead()
	if err != nil {
		return err
	}
	t := transform[V]{ctx: ctx, workers: workers, plan: p}
	t.inverse(va, 0)
	t.inverse(vb, 0)
	t.inverse(vc, 0)
	t.forward(va, 1)
	t.forward(vb, 1)
	t.each(n, func(lo, hi int) { p.mul(va[lo:hi], va[lo:hi], vb[lo:hi]) })
	t.inverse(va, 1)
	e := p.elems()
	t.each(n, func(lo, hi int) { p.store(h[lo*e:hi*e], vc[lo:hi], va[lo:hi]) })
	return t.err
}

// pieceElems is how many field elements a piece of pointwise work has: large
// beside the cost of handing it out, small beside a vector.
const pieceElems = 1 << 12

func (p *plan[V]) loadRows(ctx context.Context, workers int, a, b []fr.Element, va, vb, vc []V) error {
	return par.Ranges(ctx, workers, len(va), max(1, pieceElems/p.elems()), func(lo, hi int) error {
		if i := p.load(va, a, lo, hi); i >= 0 {
			return &RangeError{"a", i}
		}
		if i := p.load(vb, b, lo, hi); i >= 0 {
			return &RangeError{"b", i}
		}
		p.mul(vc[lo:hi], va[lo:hi], vb[lo:hi])
		return nil
	})
}

// root returns ψ, a primitive 2m-th root of unity.
func root(m int) (fr.Element, error) {
	// 7 generates the multiplicative group, and r-1 is divisible by 2^32.
	const generator = 7
	if m > 1<<31 {
		return fr.Element{}, fmt.Errorf("ntt: domain of %d, at most 2^31", m)
	}
	exponent := new(big.Int).Sub(fr.Modulus(), big.NewInt(1))
	exponent.Div(exponent, big.NewInt(int64(2*m)))
	psi := fr.NewElement(generator)
	psi.Exp(psi, exponent)
	return psi, nil
}
