package launch

// Sizes of the elements in device memory, in bytes.
const (
	WordBytes = 4
	FrBytes   = 32
	FpBytes   = 48
	quadBytes = 16 // what memory moves at once
)

// Fr is a scalar as the device has it: Montgomery form, limbs of 32 bits, the
// least significant first.
type Fr [8]uint32

// Group is G1 or G2.
type Group int

// The groups.
const (
	G1 Group = iota
	G2
)

func (g Group) String() string { return [...]string{"g1", "g2"}[g] }

// AffineBytes is a point in device memory: x, y in Montgomery form; infinity
// is all zero. It is also the size of a point in a parameter file.
func (g Group) AffineBytes() uint64 { return 2 * g.FieldBytes() }

// SumBytes is a point as the sums leave it: X, Y, ZZ, ZZZ.
func (g Group) SumBytes() uint64 { return 4 * g.FieldBytes() }

// FieldBytes is a coordinate.
func (g Group) FieldBytes() uint64 { return [...]uint64{FpBytes, 2 * FpBytes}[g] }
