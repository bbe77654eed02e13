package groth16

import "github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

// Assignment is one partition to prove: the linear forms on every row and the
// witness, all in Montgomery form, read where the caller keeps them.
//
// The rows are those of the constraint system followed by one row per input
// (a = input, b = c = 0), so Rows = len(A) = len(B). c = a·b on every row of a
// satisfied circuit, and is therefore not part of the assignment.
//
// Nothing here is written by the engine. A and B may be reused once the job
// reports its rows as read; everything else must stay until the job ends.
type Assignment struct {
	A, B   []fr.Element // [rows] values of the A and B linear forms
	Inputs []fr.Element // public inputs; element 0 is the constant one
	Aux    []fr.Element // private witness

	AAux    Density // over Aux: variables that occur in an A form
	BInputs Density // over Inputs: variables that occur in a B form
	BAux    Density // over Aux: variables that occur in a B form
}

// Density is a bitmap, least significant bit first. Bits at and past Len in
// the last word are unspecified and never looked at.
type Density struct {
	Words    []uint64 // [ceil(Len/64)]
	Len      int      // number of variables
	Popcount int      // number of set bits below Len
}

// Has reports whether variable i is in the density. i must be below Len.
func (d Density) Has(i int) bool { return d.Words[i/64]>>(i%64)&1 != 0 }

// Full returns the density of n variables that all occur.
func Full(n int) Density {
	d := Density{Words: make([]uint64, (n+63)/64), Len: n, Popcount: n}
	for i := range d.Words {
		d.Words[i] = ^uint64(0)
	}
	return d
}
