package groth16

import (
	"errors"
	"fmt"
)

// The three kinds of reasons to refuse an assignment before any work. Every
// sentinel below wraps one of them, so a caller may ask for either.
var (
	// ErrSize: a length of the assignment is out of range or does not fit its
	// other lengths.
	ErrSize = errors.New("size does not fit")
	// ErrDensity: a density has a wrong length or popcount.
	ErrDensity = errors.New("density does not fit")
	// ErrMismatch: the assignment has the shape of another circuit than the
	// parameters.
	ErrMismatch = errors.New("parameters of another circuit")
)

// What Validate refuses.
var (
	ErrNoRows        = kind(ErrSize, "no rows")
	ErrRowCount      = kind(ErrSize, "rows of a and b differ in number")
	ErrNoInputs      = kind(ErrSize, "no inputs")
	ErrTooFewRows    = kind(ErrSize, "fewer rows than inputs")
	ErrTooManyRows   = kind(ErrSize, "more rows than the largest domain")
	ErrDensityLength = kind(ErrDensity, "density length")
	ErrDensityWords  = kind(ErrDensity, "too few density words")
	ErrPopcount      = kind(ErrDensity, "density popcount")
	ErrDomain        = kind(ErrMismatch, "h points for another domain")
	ErrInputCount    = kind(ErrMismatch, "number of inputs")
	ErrAuxCount      = kind(ErrMismatch, "number of aux variables")
	ErrACount        = kind(ErrMismatch, "number of variables in a")
	ErrBCount        = kind(ErrMismatch, "number of variables in b")
	ErrBG2Count      = kind(ErrMismatch, "b in G1 and in G2 differ in number")
)

var (
	// ErrScalarRange is returned for a scalar that is not below the modulus r,
	// and for a coordinate of a proof that is not below the modulus p.
	ErrScalarRange = errors.New("scalar not below the modulus")

	// ErrDeltaIdentity is returned by Assemble and Prepare when delta is the
	// point at infinity: the blinding of such parameters does not hide the
	// witness.
	ErrDeltaIdentity = errors.New("delta of the parameters is the point at infinity")

	// ErrEncoding is returned for bytes that are not a proof.
	ErrEncoding = errors.New("not an encoded proof")

	// ErrProofPoint is returned for a proof with a point off the curve or
	// outside the prime-order subgroup, and by ParseProof for one at infinity.
	ErrProofPoint = errors.New("point of the proof")

	// ErrProofInvalid is returned for a proof that does not satisfy the
	// pairing equation.
	ErrProofInvalid = errors.New("the proof does not verify")
)

func kind(of error, text string) error { return fmt.Errorf("%s (%w)", text, of) }
