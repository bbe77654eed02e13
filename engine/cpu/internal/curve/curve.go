// Package curve adds many pairs of points at once: the one operation that sums
// over the witness, bucket sums and bucket reduction all consist of.
//
// Additions are affine with one field inversion for a whole batch
// (Montgomery's trick), 5 multiplications and a square for each pair. There is
// a portable version on gnark-crypto's field and one for AVX-512 IFMA that
// works on eight pairs at a time.
package curve

// Ref names a point of an arena: its index, with Neg set if its negative is
// meant. An arena holds at most 2^31 points.
type Ref = uint32

// Neg is the sign bit of a Ref.
const Neg Ref = 1 << 31

// Pair is one addition: arena[Dst] = ±arena[A] ± arena[B]. Dst has no sign.
type Pair struct{ A, B, Dst Ref }

// Adder works on points of an arena []P, made from affine points A as
// gnark-crypto has them. It keeps scratch memory: one goroutine at a time.
//
// Arenas lie outside the Go heap, 64 bytes aligned.
type Adder[A, P any] interface {
	// Begin starts a new arena, whose content is undefined.
	Begin()

	// Load sets dst[i] = src[at[i]], or src[i] if at is nil.
	Load(dst []P, src []A, at []uint32)

	// Store returns a point of the arena.
	Store(p *P) A

	// Move sets arena[dst] = ±arena[src].
	Move(arena []P, dst, src Ref)

	// Add does all pairs. Any operand may be at infinity, equal to the other
	// or its negative. Dst may be an operand of its own pair, but of no other
	// pair of the call.
	Add(arena []P, pairs []Pair)
}
