package curve

import (
	"unsafe"

	bls "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fp"
)

// field is what the formulas need of fp.Element and bls.E2.
type field[F any] interface {
	*F
	SetOne() *F
	IsZero() bool
	Equal(*F) bool
	Add(x, y *F) *F
	Sub(x, y *F) *F
	Neg(*F) *F
	Double(*F) *F
	Mul(x, y *F) *F
	Square(*F) *F
	Inverse(*F) *F
}

// Affine is a point as gnark-crypto lays it out; (0, 0) is infinity.
type Affine[F any] struct{ X, Y F }

// Portable is the Adder for any processor. Its arena holds the points as they
// are.
type Portable[A, F any, PF field[F]] struct {
	denominators []F
	prefix       []F // prefix[i] = product of denominators below i

	// Operands and intermediate values of one addition. They are here because
	// as local variables they would escape to the heap.
	a, b, sum               Affine[F]
	product, slope, inverse F
}

// NewPortableG1 returns the portable Adder of G1.
func NewPortableG1() Adder[bls.G1Affine, Affine[fp.Element]] {
	return &Portable[bls.G1Affine, fp.Element, *fp.Element]{}
}

// NewPortableG2 returns the portable Adder of G2.
func NewPortableG2() Adder[bls.G2Affine, Affine[bls.E2]] {
	return &Portable[bls.G2Affine, bls.E2, *bls.E2]{}
}

// Begin implements Adder.
func (k *Portable[A, F, PF]) Begin() {}

// Load implements Adder.
func (k *Portable[A, F, PF]) Load(dst []Affine[F], src []A, at []uint32) {
	if at == nil {
		copy(dst, view[A, F](src))
		return
	}
	for i, j := range at {
		dst[i] = *view1[A, F](&src[j])
	}
}

// Store implements Adder.
func (k *Portable[A, F, PF]) Store(p *Affine[F]) A {
	// SAFETY: A and Affine[F] have the same layout; the value is copied.
	return *(*A)(unsafe.Pointer(p))
}

// Move implements Adder.
func (k *Portable[A, F, PF]) Move(arena []Affine[F], dst, src Ref) {
	operand[F, PF](&k.a, arena, src)
	arena[dst] = k.a
}

// operand sets p to the point that r names, with its sign applied.
func operand[F any, PF field[F]](p *Affine[F], arena []Affine[F], r Ref) {
	*p = arena[r&^Neg]
	if r&Neg != 0 {
		PF(&p.Y).Neg(&p.Y)
	}
}

func isInfinity[F any, PF field[F]](p *Affine[F]) bool {
	return PF(&p.X).IsZero() && PF(&p.Y).IsZero()
}

// Add implements Adder.
func (k *Portable[A, F, PF]) Add(arena []Affine[F], pairs []Pair) {
	if len(k.prefix) < len(pairs) {
		k.denominators, k.prefix = make([]F, len(pairs)), make([]F, len(pairs))
	}
	PF(&k.product).SetOne()
	for i, pair := range pairs {
		operand[F, PF](&k.a, arena, pair.A)
		operand[F, PF](&k.b, arena, pair.B)
		k.prefix[i] = k.product
		k.denominator(&k.denominators[i])
		PF(&k.product).Mul(&k.product, &k.denominators[i])
	}
	PF(&k.product).Inverse(&k.product)
	for i := len(pairs) - 1; i >= 0; i-- {
		PF(&k.inverse).Mul(&k.product, &k.prefix[i])
		PF(&k.product).Mul(&k.product, &k.denominators[i])
		operand[F, PF](&k.a, arena, pairs[i].A)
		operand[F, PF](&k.b, arena, pairs[i].B)
		k.addOperands()
		arena[pairs[i].Dst] = k.sum
	}
}

// denominator sets d to that of the slope of the line through a and b, or to
// one where the sum needs none.
func (k *Portable[A, F, PF]) denominator(d *F) {
	PF(d).SetOne()
	switch {
	case isInfinity[F, PF](&k.a) || isInfinity[F, PF](&k.b):
	case !PF(&k.a.X).Equal(&k.b.X):
		PF(d).Sub(&k.b.X, &k.a.X)
	case PF(&k.a.Y).Equal(&k.b.Y):
		PF(d).Double(&k.a.Y) // not zero: no point of order two, the cofactor is odd
	}
}

// addOperands sets sum = a + b, given the inverse of their denominator.
//
//	λ = (y₂-y₁)/(x₂-x₁), or 3x₁²/2y₁ if a = b
//	x₃ = λ² - x₁ - x₂,  y₃ = λ·(x₁-x₃) - y₁
//
// Source: Explicit-Formulas Database, short Weierstrass curves, affine.
func (k *Portable[A, F, PF]) addOperands() {
	slope, p := PF(&k.slope), &k.sum
	switch {
	case isInfinity[F, PF](&k.a):
		k.sum = k.b
		return
	case isInfinity[F, PF](&k.b):
		k.sum = k.a
		return
	case !PF(&k.a.X).Equal(&k.b.X):
		slope.Sub(&k.b.Y, &k.a.Y)
	case PF(&k.a.Y).Equal(&k.b.Y):
		PF(&p.X).Square(&k.a.X)
		slope.Double(&p.X)
		slope.Add(slope, &p.X)
	default:
		k.sum = Affine[F]{} // a = -b
		return
	}
	slope.Mul(slope, &k.inverse)
	PF(&p.X).Square(slope)
	PF(&p.X).Sub(&p.X, &k.a.X)
	PF(&p.X).Sub(&p.X, &k.b.X)
	PF(&p.Y).Sub(&k.a.X, &p.X)
	PF(&p.Y).Mul(&p.Y, slope)
	PF(&p.Y).Sub(&p.Y, &k.a.Y)
}

func view[A, F any](src []A) []Affine[F] {
	// SAFETY: A and Affine[F] have the same layout; the result keeps src alive.
	return unsafe.Slice((*Affine[F])(unsafe.Pointer(unsafe.SliceData(src))), len(src))
}

func view1[A, F any](src *A) *Affine[F] {
	return (*Affine[F])(unsafe.Pointer(src)) // SAFETY: as in view
}
