// Package msm sums points over scalars by the bucket method, with batched
// affine additions, for G1 and G2.
//
// A Sum is cut into units: a range of the points and a range of the windows.
// Any goroutine may do any unit, with a Workspace of its own, so the units of
// several sums keep all cores busy together.
//
// Source: Pippenger's bucket method with signed digits; eprint 2012/549 §4.
package msm

import (
	"math/bits"
	"sync"

	"github.com/libcuzk/libcuzk/engine/cpu/internal/curve"
	"github.com/libcuzk/libcuzk/internal/hostmem"
)

// Scalar is a canonical scalar, below the modulus, least significant limb
// first.
type Scalar = [4]uint64

// scalarBits is the size of a Scalar; the modulus itself has 255 bits.
const scalarBits = 256

// Jacobian is what the last few additions need of bls.G1Jac and bls.G2Jac.
type Jacobian[A, J any] interface {
	*J
	AddAssign(*J) *J
	DoubleAssign() *J
	AddMixed(*A) *J
}

// Group says how one group's points are held: A as gnark-crypto has affine
// points, P as the Adder works on them, J for the last few additions.
type Group[A, P, J any] struct {
	Pool     *hostmem.Pool
	NewAdder func() curve.Adder[A, P]

	workspaces sync.Pool // of *workspace[A, P]
}

// Dense is Σ Scalars[j]·Points[i] over the pairs (i, j) = (At[k], ScalarAt[k]).
// A nil At or ScalarAt stands for 0, 1, 2, ...
type Dense[A any] struct {
	Points   []A
	At       []uint32
	Scalars  []Scalar
	ScalarAt []uint32
	Len      int // number of pairs
}

// window parameters of a sum of n pairs.
type shape struct {
	c       int // bits of a window
	windows int
	buckets int // of one window: digits are -2^(c-1) .. 2^(c-1)-1
	offset  Scalar
}

// shapeFor picks the window that needs the fewest additions: one for each
// pair and window, and a good two for each bucket in the reduction.
func shapeFor(n int) shape {
	const (
		minBits, maxBits = 4, 18
		bucketCost       = 2.3 // additions a bucket costs, with what the reduction wastes
		windowCost       = 100 // additions a window costs in single-point arithmetic
	)
	best, bestCost := 0, 0.0
	for c := minBits; c <= maxBits; c++ {
		windows := (scalarBits + c - 1) / c
		cost := float64(windows) * (float64(n) + windowCost + bucketCost*float64(int(1)<<(c-1)))
		if best == 0 || cost < bestCost {
			best, bestCost = c, cost
		}
	}
	return newShape(best)
}

// newShape fills in what follows from the window.
//
// Adding 2^(c-1) in every window but the last makes digits independent of
// each other: the digit of a window is its c bits less 2^(c-1), without a
// carry to pass on. The last window keeps its unsigned digit, which is at most
// 2^(c-1): the modulus is below 0.91·2^255 and windows·c ≥ 256.
func newShape(c int) shape {
	s := shape{c: c, windows: (scalarBits + c - 1) / c, buckets: 1 << (c - 1)}
	for w := range s.windows - 1 {
		bit := w*c + c - 1
		s.offset[bit/64] |= 1 << (bit % 64)
	}
	return s
}

// digit returns the signed digit of window w of a scalar to which offset has
// been added.
func (s *shape) digit(k *Scalar, w int) int32 {
	bit := w * s.c
	word, shift := bit/64, bit%64
	v := k[word] >> shift
	if shift+s.c > 64 && word < 3 {
		v |= k[word+1] << (64 - shift)
	}
	d := int32(v & (1<<s.c - 1))
	if w < s.windows-1 {
		d -= 1 << (s.c - 1)
	}
	return d
}

// addOffset returns k plus the offset. It cannot overflow: k < 0.46·2^256, and
// the offset's highest bit is below bit 255.
func (s *shape) addOffset(k *Scalar) (out Scalar) {
	var carry uint64
	for i := range out {
		out[i], carry = bits.Add64(k[i], s.offset[i], carry)
	}
	return out
}
