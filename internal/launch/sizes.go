package launch

// Sizes of the elements in device memory, in bytes.
const (
	WordBytes = 4
	FrBytes   = 32
	FpBytes   = 48
	quadBytes = 16 // the largest piece that a thread loads or stores at once
)

// Fr is a scalar on the device: Montgomery form, limbs of 32 bits, the
// least significant first.
type Fr [8]uint32

// Group is G1 or G2.
type Group int

const (
	G1 Group = iota
	G2
)

func (g Group) String() string { return [...]string{"g1", "g2"}[g] }

// AffineBytes is the size of a point in device memory, and in a parameter file:
// x and y, on the device in Montgomery form; infinity is all zero.
func (g Group) AffineBytes() uint64 { return 2 * g.FieldBytes() }

// SumBytes is the size of a point in a sum: X, Y, ZZ, ZZZ.
func (g Group) SumBytes() uint64 { return 4 * g.FieldBytes() }

// FieldBytes is the size of a coordinate.
func (g Group) FieldBytes() uint64 { return [...]uint64{FpBytes, 2 * FpBytes}[g] }
