package groth16

import (
	"fmt"
	"math/bits"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/libcuzk/libcuzk/internal/modulus"
)

// Counts are the numbers of points in the sections of a parameter file.
type Counts struct {
	IC, H, L, A, BG1, BG2 int
}

// MaxLogDomain is the largest domain as a power of two: the coset shift is a
// root of unity of order 2m, and r-1 is divisible by 2^32.
const MaxLogDomain = 31

// Domain returns the size m of the evaluation domain, the smallest power of
// two that is at least rows. rows must be in 1 .. 2^MaxLogDomain.
func Domain(rows int) int { return 1 << bits.Len(uint(rows-1)) }

// Validate checks the sizes, densities and popcounts of a, recounted, against
// each other and against the parameters' counts. It reads no scalar, and no
// density before its length is the parameters': a wrong length may pass the end
// of the caller's memory.
//
// Errors: ErrNoRows, ErrRowCount, ErrNoInputs, ErrTooFewRows, ErrTooManyRows, of
// the kind ErrSize; ErrDensityLength, ErrDensityWords, ErrPopcount, of the kind
// ErrDensity; ErrDomain, ErrInputCount, ErrAuxCount, ErrACount, ErrBCount,
// ErrBG2Count, of the kind ErrMismatch.
func Validate(a *Assignment, c Counts) error {
	if err := validateSizes(a); err != nil {
		return err
	}
	densities := []struct {
		name    string
		density Density
		vars    int
	}{
		{"a_aux", a.AAux, len(a.Aux)},
		{"b_inputs", a.BInputs, len(a.Inputs)},
		{"b_aux", a.BAux, len(a.Aux)},
	}
	for _, d := range densities {
		if err := d.density.validateLength(d.name, d.vars); err != nil {
			return err
		}
	}
	if err := validateVariables(a, c); err != nil {
		return err
	}
	for _, d := range densities {
		if err := d.density.validatePopcount(d.name); err != nil {
			return err
		}
	}
	return validatePoints(a, c)
}

func validateSizes(a *Assignment) error {
	rows, inputs := len(a.A), len(a.Inputs)
	switch {
	case rows != len(a.B):
		return fmt.Errorf("groth16: %w: a has %d, b has %d", ErrRowCount, rows, len(a.B))
	case rows == 0:
		return fmt.Errorf("groth16: %w: a and b are empty", ErrNoRows)
	case inputs == 0:
		return fmt.Errorf("groth16: %w: at least the constant one is expected", ErrNoInputs)
	case rows < inputs:
		return fmt.Errorf("groth16: %w: %d rows, %d inputs, and each input has a row of its own", ErrTooFewRows, rows, inputs)
	case rows > 1<<MaxLogDomain:
		return fmt.Errorf("groth16: %w: %d rows, at most %d", ErrTooManyRows, rows, 1<<MaxLogDomain)
	}
	return nil
}

func (d Density) validateLength(name string, vars int) error {
	if d.Len != vars {
		return fmt.Errorf("groth16: %w: %s has %d bits for %d variables", ErrDensityLength, name, d.Len, vars)
	}
	if want := (vars + 63) / 64; len(d.Words) < want {
		return fmt.Errorf("groth16: %w: %s has %d, %d bits need %d", ErrDensityWords, name, len(d.Words), vars, want)
	}
	return nil
}

func (d Density) validatePopcount(name string) error {
	if n := d.Count(); n != d.Popcount {
		return fmt.Errorf("groth16: %w: %s is said to have %d set bits and has %d", ErrPopcount, name, d.Popcount, n)
	}
	return nil
}

func validateVariables(a *Assignment, c Counts) error {
	inputs, aux, m := len(a.Inputs), len(a.Aux), Domain(len(a.A))
	switch {
	// Setup makes m-1 points for h; some tools write one more, which pairs
	// with a coefficient that is zero in a satisfied circuit.
	case c.H != m-1 && c.H != m:
		return fmt.Errorf("groth16: %w: %d rows need %d or %d, the parameters have %d", ErrDomain, len(a.A), m-1, m, c.H)
	case c.IC != inputs:
		return fmt.Errorf("groth16: %w: the assignment has %d, the parameters have %d", ErrInputCount, inputs, c.IC)
	case c.L != aux:
		return fmt.Errorf("groth16: %w: the assignment has %d, the parameters have %d", ErrAuxCount, aux, c.L)
	}
	return nil
}

func validatePoints(a *Assignment, c Counts) error {
	inputs := len(a.Inputs)
	nA, nB := inputs+a.AAux.Popcount, a.BInputs.Popcount+a.BAux.Popcount
	switch {
	case c.A != nA:
		return fmt.Errorf("groth16: %w: the assignment has %d (%d inputs, %d aux), the parameters have %d",
			ErrACount, nA, inputs, a.AAux.Popcount, c.A)
	case c.BG1 != nB:
		return fmt.Errorf("groth16: %w: the assignment has %d (%d inputs, %d aux), the parameters have %d",
			ErrBCount, nB, a.BInputs.Popcount, a.BAux.Popcount, c.BG1)
	case c.BG2 != c.BG1:
		return fmt.Errorf("groth16: %w: %d and %d", ErrBG2Count, c.BG1, c.BG2)
	}
	return nil
}

// Count counts the set bits below Len.
func (d Density) Count() int {
	n := 0
	for i := range (d.Len + 63) / 64 {
		n += bits.OnesCount64(d.Word(i))
	}
	return n
}

// Word returns word i with the bits at and past Len cleared.
func (d Density) Word(i int) uint64 {
	w := d.Words[i]
	if rest := d.Len - 64*i; rest < 64 {
		w &= 1<<rest - 1
	}
	return w
}

// CheckScalar returns ErrScalarRange with name and index if x is not below
// the modulus. index is left out of the text if it is negative.
func CheckScalar(name string, index int, x *fr.Element) error {
	if modulus.BelowR(x) {
		return nil
	}
	if index < 0 {
		return fmt.Errorf("groth16: %w: %s", ErrScalarRange, name)
	}
	return fmt.Errorf("groth16: %w: %s[%d]", ErrScalarRange, name, index)
}
