package curve

import (
	bls "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fp"

	"github.com/libcuzk/libcuzk/internal/modulus"
)

// careful is scratch memory for pairs that are no ordinary additions.
type careful[P any] struct {
	ordinary []Pair
	doubled  []Pair
}

// splitOff does the pairs that the kernels cannot do, and returns the others:
// pairs with an operand at infinity, with opposite and with equal operands.
func (k *ifma[A, P]) splitOff(arena []P, pairs []Pair) []Pair {
	// pairs may be k.careful.ordinary itself, which is then overwritten from
	// the start, no faster than it is read.
	ordinary, doubled := k.careful.ordinary[:0], k.careful.doubled[:0]
	for _, pair := range pairs {
		a, b := &arena[pair.A&^Neg], &arena[pair.B&^Neg]
		switch {
		case k.isInfinity(a):
			k.Move(arena, pair.Dst, pair.B)
		case k.isInfinity(b):
			k.Move(arena, pair.Dst, pair.A)
		case !k.equalX(a, b):
			ordinary = append(ordinary, pair)
		case k.equalY(a, b) == ((pair.A^pair.B)&Neg == 0):
			doubled = append(doubled, pair)
		default:
			arena[pair.Dst] = *new(P)
			k.special = true
		}
	}
	k.careful.ordinary, k.careful.doubled = ordinary, doubled
	k.double(arena, doubled)
	return ordinary
}

func (k *ifma[A, P]) equalX(a, b *P) bool {
	return equalVectors(k.vectors(a)[:k.degree], k.vectors(b)[:k.degree])
}

func (k *ifma[A, P]) equalY(a, b *P) bool {
	return equalVectors(k.vectors(a)[k.degree:], k.vectors(b)[k.degree:])
}

// equalVectors compares modulo p. Both are below 1.001·p, so equal elements
// differ by 0 or ±p, and the lowest limbs tell nearly all others apart.
func equalVectors(a, b []limbVector) bool {
	low := modulus.P[0] & (1<<limbBits - 1)
	for i := range a {
		switch (a[i][0] - b[i][0]) & (1<<limbBits - 1) {
		case 0, low, -low & (1<<limbBits - 1):
			if x, y := fromLimbs(&a[i]), fromLimbs(&b[i]); !x.Equal(&y) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// double does pairs with equal operands: λ = 3x²/2y. It works on single
// points, with gnark-crypto's field: such pairs are rare in sound parameters.
func (k *ifma[A, P]) double(arena []P, pairs []Pair) {
	if len(pairs) == 0 {
		return
	}
	if k.degree == 1 {
		doubleAll[fp.Element](arena, pairs, k.elements1, k.setElements1)
		return
	}
	doubleAll[bls.E2](arena, pairs, k.elements2, k.setElements2)
}

// doubleAll doubles the A operand of every pair, with one inversion for all.
func doubleAll[F, P any, PF field[F]](arena []P, pairs []Pair, get func(*P) Affine[F], set func(*P, *Affine[F])) {
	points, prefix := make([]Affine[F], len(pairs)), make([]F, len(pairs))
	var product, y2 F
	PF(&product).SetOne()
	for i, pair := range pairs {
		points[i] = get(&arena[pair.A&^Neg])
		if pair.A&Neg != 0 {
			PF(&points[i].Y).Neg(&points[i].Y)
		}
		prefix[i] = product
		PF(&product).Mul(&product, PF(&y2).Double(&points[i].Y))
	}
	PF(&product).Inverse(&product)
	k := Portable[Affine[F], F, PF]{}
	for i := len(pairs) - 1; i >= 0; i-- {
		PF(&k.inverse).Mul(&product, &prefix[i])
		PF(&product).Mul(&product, PF(&y2).Double(&points[i].Y))
		k.a, k.b = points[i], points[i]
		k.addOperands()
		set(&arena[pairs[i].Dst], &k.sum)
	}
}

func (k *ifma[A, P]) elements1(p *P) Affine[fp.Element] {
	v := k.vectors(p)
	return Affine[fp.Element]{X: fromLimbs(&v[0]), Y: fromLimbs(&v[1])}
}

func (k *ifma[A, P]) setElements1(p *P, x *Affine[fp.Element]) {
	v := k.vectors(p)
	v[0], v[1] = toLimbs(&x.X), toLimbs(&x.Y)
}

func (k *ifma[A, P]) elements2(p *P) Affine[bls.E2] {
	v := k.vectors(p)
	return Affine[bls.E2]{
		X: bls.E2{A0: fromLimbs(&v[0]), A1: fromLimbs(&v[1])},
		Y: bls.E2{A0: fromLimbs(&v[2]), A1: fromLimbs(&v[3])},
	}
}

func (k *ifma[A, P]) setElements2(p *P, x *Affine[bls.E2]) {
	v := k.vectors(p)
	v[0], v[1] = toLimbs(&x.X.A0), toLimbs(&x.X.A1)
	v[2], v[3] = toLimbs(&x.Y.A0), toLimbs(&x.Y.A1)
}
