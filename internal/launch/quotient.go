package launch

import (
	"math/big"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
)

type rowsArgs struct {
	a, b, c, bad uint64
	n, m         uint32
}

type productArgs struct {
	a, b uint64
	n, _ uint32
}

type combineArgs struct {
	cScale, pScale Fr
	p, c           uint64
	n              uint32
	_              [3]uint32
}

type reverseArgs struct {
	v                uint64
	logSize, logSide uint32
}

// Quotient is the launches of one quotient polynomial, in three stages that
// must be enqueued in order. B is not touched after the first, C not after the
// second.
type Quotient struct {
	Rows    []Call // c = a b, transforms of a and b, their product: B is free then
	Combine []Call // transforms of c and of the product, h: C is free then
}

// NewQuotient computes h = (INTT(a b) - INTT_coset(A B)) / 2 on the domain of
// m = 2^LogSize, where A and B are a and b on the coset of the 2m-th root of
// unity. a, b and c are blocks of 32 m bytes; the first n rows of a and b are
// the input, and c is not read. h replaces a, in bit-reversed order. bad, one
// word that the caller has set to None, gets the first row in which a or b is not
// below r.
//
// Source: the identity g^m = -1 for g of order 2m: on the coset the vanishing
// polynomial is the constant -2.
func (t Tables) NewQuotient(a, b, c, bad Range, n uint32) Quotient {
	m := uint32(1) << t.LogSize
	bytes := uint64(m) * FrBytes
	var q Quotient
	q.Rows = append(q.Rows, call(kernelRows, uint64(m),
		rowsArgs{a: a.Addr, b: b.Addr, c: c.Addr, bad: bad.Addr, n: n, m: m},
		updates(a, bytes), updates(b, bytes), writes(c, bytes), updates(bad, WordBytes)))
	for _, v := range []Range{a, b} {
		q.Rows = append(q.Rows, t.DIF(v, Inverse, false)...)
		q.Rows = append(q.Rows, t.DIT(v, Forward, true)...)
	}
	q.Rows = append(q.Rows, Product(a, b, m))

	q.Combine = append(q.Combine, t.DIF(c, Inverse, false)...)
	q.Combine = append(q.Combine, t.DIF(a, Inverse, true)...)
	q.Combine = append(q.Combine, call(kernelCombine, uint64(m), combineArgs{
		// Unscaled transforms: c comes out times m, the product times m^3.
		cScale: FromElement(inverseOf(2, t.LogSize, 1)), pScale: FromElement(inverseOf(2, t.LogSize, 3)),
		p: a.Addr, c: c.Addr, n: m,
	}, updates(a, bytes), reads(c, bytes)))
	return q
}

// Product multiplies a by b, element by element.
func Product(a, b Range, n uint32) Call {
	bytes := uint64(n) * FrBytes
	return call(kernelProduct, uint64(n), productArgs{a: a.Addr, b: b.Addr, n: n},
		updates(a, bytes), reads(b, bytes))
}

// Reverse puts element i of v[2^logSize] where the reversal of i's logSize bits
// says, in place: h of Quotient then lies in natural order.
func Reverse(v Range, logSize uint32) Call {
	side := min(maxSideLog, logSize/2)
	return gridCall(kernelReverse, 1<<(logSize-2*side), 1, reverseArgs{v: v.Addr, logSize: logSize, logSide: side},
		updates(v, FrBytes<<logSize))
}

// inverseOf is 1 / (k 2^(log power)).
func inverseOf(k uint64, log, power uint32) fr.Element {
	var two, x fr.Element
	two.SetUint64(2)
	two.Exp(two, big.NewInt(int64(log*power)))
	x.SetUint64(k)
	x.Mul(&x, &two)
	x.Inverse(&x)
	return x
}
