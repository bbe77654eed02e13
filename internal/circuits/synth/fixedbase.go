package synth

import (
	"unsafe"

	bls "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fp"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
)

// field is the arithmetic of a coordinate field: fp.Element or bls.E2.
type field[T any] interface {
	*T
	Add(x, y *T) *T
	Sub(x, y *T) *T
	Mul(x, y *T) *T
	Square(x *T) *T
	Inverse(x *T) *T
	Double(x *T) *T
	Neg(x *T) *T
	SetOne() *T
	IsZero() bool
	Equal(x *T) bool
}

// affine has the layout of bls.G1Affine and bls.G2Affine; infinity is (0, 0).
type affine[T any] struct{ X, Y T }

// fixedBase multiplies one base by many scalars. Row k of its table holds
// d·2^(k·window)·base for d = 1 .. 2^(window-1), and a scalar is a sum of one
// signed digit in each row.
type fixedBase[T any, F field[T]] struct {
	window int
	rows   [][]affine[T]
}

// digitBits is what the signed digits of a scalar below r must cover: one bit
// more than r has, for the carry.
const digitBits = fr.Bits + 1

// bestWindow is the window with the fewest additions: one a row for each
// scalar, and one for each entry of the table.
func bestWindow(scalars int) int {
	const widest = 16 // 50 MB of points in G1
	best, least := 0, 0
	for window := 2; window <= widest; window++ {
		rows := (digitBits + window - 1) / window
		if cost := rows * (scalars + 1<<(window-1)); best == 0 || cost < least {
			best, least = window, cost
		}
	}
	return best
}

func newFixedBase[T any, F field[T]](base affine[T], window int) *fixedBase[T, F] {
	f := &fixedBase[T, F]{window: window, rows: make([][]affine[T], (digitBits+window-1)/window)}
	adder := newAdder[T, F](1)
	for k := range f.rows {
		f.rows[k] = make([]affine[T], 1<<(window-1))
		f.rows[k][0] = base
		for range window {
			point, same := []affine[T]{base}, []affine[T]{base}
			adder.add(point, same)
			base = point[0]
		}
	}
	inParallel(len(f.rows), func(k int) { fillMultiples[T, F](f.rows[k]) })
	return f
}

// fillMultiples makes row[d-1] = d·row[0], doubling what is there: the
// multiples 1 .. n, each with n added, are n+1 .. 2n.
func fillMultiples[T any, F field[T]](row []affine[T]) {
	adder := newAdder[T, F](len(row) / 2)
	for n := 1; n < len(row); n *= 2 {
		copy(row[n:2*n], row[:n])
		step := make([]affine[T], n)
		for i := range step {
			step[i] = row[n-1]
		}
		adder.add(row[n:2*n], step)
	}
}

// multiply gives scalars[i]·base, on all cores.
func (f *fixedBase[T, F]) multiply(scalars []fr.Element, out []affine[T]) {
	const batch = 1 << 10 // inversions are shared by this many points
	inParallel((len(scalars)+batch-1)/batch, func(i int) {
		start := i * batch
		f.multiplyBatch(scalars[start:min(start+batch, len(scalars))], out[start:])
	})
}

func (f *fixedBase[T, F]) multiplyBatch(scalars []fr.Element, out []affine[T]) {
	adder := newAdder[T, F](len(scalars))
	canonical := make([][fr.Limbs]uint64, len(scalars))
	for i := range scalars {
		canonical[i] = scalars[i].Bits()
		out[i] = affine[T]{}
	}
	carries := make([]uint64, len(scalars))
	terms := make([]affine[T], len(scalars))
	for k, row := range f.rows {
		for i := range terms {
			digit := bitsOf(&canonical[i], k*f.window, f.window) + carries[i]
			carries[i] = 0
			terms[i] = affine[T]{}
			switch half := uint64(1) << (f.window - 1); {
			case digit == 0:
			case digit <= half:
				terms[i] = row[digit-1]
			default: // d is d - 2^window here and one more in the next row
				carries[i] = 1
				if negative := 2*half - digit; negative != 0 {
					terms[i] = row[negative-1]
					F(&terms[i].Y).Neg(&terms[i].Y)
				}
			}
		}
		adder.add(out[:len(terms)], terms)
	}
}

// bitsOf is bits [from, from+count) of a little-endian number.
func bitsOf(limbs *[fr.Limbs]uint64, from, count int) uint64 {
	limb, shift := from/64, from%64
	if limb >= len(limbs) {
		return 0
	}
	value := limbs[limb] >> shift
	if shift+count > 64 && limb+1 < len(limbs) {
		value |= limbs[limb+1] << (64 - shift)
	}
	return value & (1<<count - 1)
}

// adder adds affine points with one inversion for all of them (Montgomery's
// trick). It lends its memory to one goroutine at a time; operands of generic
// calls escape, so nothing is put on the stack.
type adder[T any, F field[T]] struct {
	denominators, prefixes []T
	inverse, slope, x, y   T
}

func newAdder[T any, F field[T]](most int) *adder[T, F] {
	return &adder[T, F]{denominators: make([]T, most), prefixes: make([]T, most)}
}

// add puts p[i] + q[i] into p[i]; any of them may be infinity, equal, or
// opposite. Source: https://hyperelliptic.org/EFD/g1p/auto-shortw.html, affine:
//
//	λ = (y2 - y1)/(x2 - x1), or 3·x1²/(2·y1) if the points are equal
//	x3 = λ² - x1 - x2;  y3 = λ·(x1 - x3) - y1
func (a *adder[T, F]) add(p, q []affine[T]) {
	F(&a.inverse).SetOne()
	for i := range p {
		a.prefixes[i] = a.inverse
		if a.denominator(i, &p[i], &q[i]) {
			F(&a.inverse).Mul(&a.inverse, &a.denominators[i])
		}
	}
	F(&a.inverse).Inverse(&a.inverse)
	for i := len(p) - 1; i >= 0; i-- {
		p, q, d := &p[i], &q[i], &a.denominators[i]
		switch {
		case isInfinity[T, F](q):
			continue
		case isInfinity[T, F](p):
			*p = *q
			continue
		case F(d).IsZero(): // opposite
			*p = affine[T]{}
			continue
		}
		F(&a.slope).Mul(&a.inverse, &a.prefixes[i]) // 1/d
		F(&a.inverse).Mul(&a.inverse, d)
		if F(&p.X).Equal(&q.X) {
			F(&a.x).Square(&p.X)
			F(&a.y).Double(&a.x)
			F(&a.y).Add(&a.y, &a.x)
		} else {
			F(&a.y).Sub(&q.Y, &p.Y)
		}
		F(&a.slope).Mul(&a.slope, &a.y)
		F(&a.x).Square(&a.slope)
		F(&a.x).Sub(&a.x, &p.X)
		F(&a.x).Sub(&a.x, &q.X)
		F(&a.y).Sub(&p.X, &a.x)
		F(&a.y).Mul(&a.y, &a.slope)
		F(&p.Y).Sub(&a.y, &p.Y)
		p.X = a.x
	}
}

// denominator sets that of pair i and reports whether it is to be inverted.
func (a *adder[T, F]) denominator(i int, p, q *affine[T]) bool {
	d := &a.denominators[i]
	if isInfinity[T, F](p) || isInfinity[T, F](q) {
		return false
	}
	F(d).Sub(&q.X, &p.X)
	if F(d).IsZero() {
		// 2·y1 if the points are equal, else 0. No point of the subgroup has
		// y = 0: its order is odd.
		F(d).Add(&p.Y, &q.Y)
	}
	return !F(d).IsZero()
}

func isInfinity[T any, F field[T]](p *affine[T]) bool {
	return F(&p.X).IsZero() && F(&p.Y).IsZero()
}

// multiplyG1 gives scalars[i]·generator for each list of scalars.
func multiplyG1(lists ...[]fr.Element) [][]bls.G1Affine {
	_, _, generator, _ := bls.Generators()
	total := 0
	for _, scalars := range lists {
		total += len(scalars)
	}
	table := newFixedBase[fp.Element](affine[fp.Element](generator), bestWindow(total))
	out := make([][]bls.G1Affine, len(lists))
	for i, scalars := range lists {
		out[i] = make([]bls.G1Affine, len(scalars))
		// SAFETY: bls.G1Affine and affine[fp.Element] are structs of the same
		// two fields, as the conversion of generator above needs at compile
		// time.
		table.multiply(scalars, unsafe.Slice((*affine[fp.Element])(unsafe.Pointer(unsafe.SliceData(out[i]))), len(out[i])))
	}
	return out
}

// multiplyG2 is multiplyG1 for one list in G2.
func multiplyG2(scalars []fr.Element) []bls.G2Affine {
	_, _, _, generator := bls.Generators()
	table := newFixedBase[bls.E2](affine[bls.E2](generator), bestWindow(len(scalars)))
	out := make([]bls.G2Affine, len(scalars))
	// SAFETY: as in multiplyG1.
	table.multiply(scalars, unsafe.Slice((*affine[bls.E2])(unsafe.Pointer(unsafe.SliceData(out))), len(out)))
	return out
}
