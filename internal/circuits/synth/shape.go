package synth

import (
	"errors"
	"fmt"
	"math"

	"github.com/libcuzk/libcuzk/engine/groth16"
)

// ErrShape is returned by New for a shape that no circuit has.
var ErrShape = errors.New("no circuit has this shape")

// Shape says what a circuit looks like. Shares are between 0 and 1; 0 and 1
// are exact, others are met on average.
type Shape struct {
	Rows   int // of the constraint system and one for each input; at least 1
	Inputs int // public inputs, the leading one included; 1 .. Rows
	Aux    int // private variables; needs Rows > Inputs if not 0

	// Densities. With Rows = Inputs there is no row for a variable to occur
	// in, and the B densities are empty whatever is asked.
	AAux    float64 // share of aux that occur in an A form
	BAux    float64 // share of aux that occur in a B form
	BOne    bool    // the constant one occurs in a B form
	BInputs float64 // share of the other inputs that occur in a B form

	// Values of aux: those that occur in no B form, and those that do.
	Values, ValuesInB Shares
	// Values of the A and B forms on the rows of the constraint system; Small
	// must be 0. Row 0 of B is always dense. B is 0 on every row if no
	// variable with a value other than 0 occurs in it.
	RowsA, RowsB Shares

	// Duplicates is the share of aux that have the same coefficients, and so
	// the same points, as others: DuplicateGroup of them each. They also have
	// the same value v; where v is dense, half of them have -v.
	Duplicates     float64
	DuplicateGroup int // at least 2 if Duplicates is not 0

	// Spoil makes the witness fail on row SpoilRow, below Rows - Inputs.
	Spoil    bool
	SpoilRow int
}

// Shares are parts of a whole; what is left is dense: uniform below the
// modulus, one in eight a value at an edge (-1, (r±1)/2, powers of two).
type Shares struct {
	Zero, One float64
	Small     float64 // 2 .. 2^16 - 1
}

// constraints is the number of rows without those of the inputs.
func (s *Shape) constraints() int { return s.Rows - s.Inputs }

func (s *Shape) validate() error {
	if s.Rows < 1 || s.Rows > 1<<groth16.MaxLogDomain {
		return fmt.Errorf("synth: rows: expected 1 to 2^%d, got %d: %w", groth16.MaxLogDomain, s.Rows, ErrShape)
	}
	if s.Inputs < 1 || s.Inputs > s.Rows {
		return fmt.Errorf("synth: inputs: expected 1 to %d, the number of rows, got %d: %w", s.Rows, s.Inputs, ErrShape)
	}
	if s.Aux < 0 || s.Aux > math.MaxUint32 {
		return fmt.Errorf("synth: aux: expected 0 to 2^32 - 1, got %d: %w", s.Aux, ErrShape)
	}
	if s.Aux > 0 && s.constraints() == 0 {
		return fmt.Errorf("synth: %d aux, but each of the %d rows belongs to an input: %w", s.Aux, s.Rows, ErrShape)
	}
	if s.Duplicates > 0 && s.DuplicateGroup < 2 {
		return fmt.Errorf("synth: duplicate group: expected at least 2, got %d: %w", s.DuplicateGroup, ErrShape)
	}
	if s.Spoil && (s.SpoilRow < 0 || s.SpoilRow >= s.constraints()) {
		return fmt.Errorf("synth: row to spoil: expected 0 to %d, got %d: %w", s.constraints()-1, s.SpoilRow, ErrShape)
	}
	return s.validateShares()
}

func (s *Shape) validateShares() error {
	for _, share := range []struct {
		name  string
		value float64
	}{
		{"a_aux", s.AAux}, {"b_aux", s.BAux}, {"b_inputs", s.BInputs}, {"duplicates", s.Duplicates},
		{"small rows of a", s.RowsA.Small + 1}, {"small rows of b", s.RowsB.Small + 1},
		{"zeros in aux", s.Values.Zero}, {"ones in aux", s.Values.One}, {"small values in aux", s.Values.Small}, {"not dense in aux", s.Values.sum()},
		{"zeros in b_aux", s.ValuesInB.Zero}, {"ones in b_aux", s.ValuesInB.One}, {"small values in b_aux", s.ValuesInB.Small}, {"not dense in b_aux", s.ValuesInB.sum()},
		{"zero rows of a", s.RowsA.Zero}, {"one rows of a", s.RowsA.One}, {"not dense rows of a", s.RowsA.sum()},
		{"zero rows of b", s.RowsB.Zero}, {"one rows of b", s.RowsB.One}, {"not dense rows of b", s.RowsB.sum()},
	} {
		// The comparison is this way round so that it refuses NaN.
		if !(share.value >= 0 && share.value <= 1) {
			return fmt.Errorf("synth: share of %s: expected 0 to 1, got %v: %w", share.name, share.value, ErrShape)
		}
	}
	return nil
}

func (s Shares) sum() float64 { return s.Zero + s.One + s.Small }

// Dense is a circuit with every variable in every density and no value that a
// prover could skip: the most work that rows of this number can give.
func Dense(rows, inputs int) Shape {
	return Shape{Rows: rows, Inputs: inputs, Aux: rows - inputs, AAux: 1, BAux: 1, BOne: true, BInputs: 1}
}

// PoRepLike has the shares of Filecoin's PoRep. Source: a 2 KiB sector's
// circuit, measured; table in tests/golden/README.md: 2,687,961 rows, 40
// inputs, 2,685,673 aux, a_aux 2,674,908, b_aux 685,521, only the one in
// b_inputs; aux 51.1 % zero and 47.2 % one, of those in b 47.6 and 47.7 %; rows
// of a 49.1 and 18.1 %, of b 49.0 and 49.8 %.
func PoRepLike(rows, inputs int) Shape {
	const inA, inB = 2674908.0 / 2685673, 685521.0 / 2685673
	valuesInB := Shares{Zero: 0.476, One: 0.477, Small: 0.005}
	// Over all aux the shares are 51.1 and 47.2 %; these are for the others.
	values := Shares{Zero: (0.511 - inB*valuesInB.Zero) / (1 - inB), One: (0.472 - inB*valuesInB.One) / (1 - inB), Small: 0.001}
	return Shape{
		Rows: rows, Inputs: inputs, Aux: rows - inputs, AAux: inA, BAux: inB, BOne: true,
		Values: values, ValuesInB: valuesInB,
		RowsA: Shares{Zero: 0.491, One: 0.181}, RowsB: Shares{Zero: 0.490, One: 0.498},
	}
}

// SHA256Like has the shares of a SHA-256 circuit, in which every aux value is
// 0 or 1. Source: golden case sha512: 45,391 rows, 45,340 aux, all in a_aux,
// 11,500 in b_aux; 52.4 % zero, of those in b 50.2 %. Rows of a and b as in
// PoRepLike.
func SHA256Like(rows, inputs int) Shape {
	s := PoRepLike(rows, inputs)
	s.AAux, s.BAux = 1, 11500.0/45340
	s.ValuesInB = Shares{Zero: 0.502, One: 0.498}
	zero := (0.524 - s.BAux*s.ValuesInB.Zero) / (1 - s.BAux)
	s.Values = Shares{Zero: zero, One: 1 - zero}
	return s
}
