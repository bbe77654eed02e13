package groth16

import (
	"errors"
	"fmt"
)

// Explain turns ErrProofInvalid about a proof that was just made from a into
// a text that says what is wrong with the caller's data, as far as it can be
// known: c is never read, so whether a·b = c holds on a row is not. Other
// errors, and nil, are returned as they are.
//
// rows says whether A and B may still be read; without them only the inputs
// are looked at.
func Explain(err error, a *Assignment, rows bool) error {
	if !errors.Is(err, ErrProofInvalid) {
		return err
	}
	return fmt.Errorf("%w: %s", err, a.suspect(rows))
}

// suspect names the first thing that no satisfied circuit has.
func (a *Assignment) suspect(rows bool) string {
	if !a.Inputs[0].IsOne() {
		return "inputs[0] is not one"
	}
	if rows {
		first := len(a.A) - len(a.Inputs)
		for i := range a.Inputs {
			if !a.A[first+i].Equal(&a.Inputs[i]) || !a.B[first+i].IsZero() {
				return fmt.Sprintf("row %d should be that of input %d (a = the input, b = 0) and is not", first+i, i)
			}
		}
	}
	return "the assignment does not satisfy the circuit, or the parameters belong to another circuit of the same shape"
}
