// Package gv reads and writes .gv files: one assignment with its r and s and,
// when it is known, the proof that they give. Golden cases are kept in this
// form, and cuzk-gen writes it.
//
// Layout: integers are u64 little endian, scalars 32 bytes as in memory
// (Montgomery form, least significant limb first).
//
//	 0  magic "CUZKGV01"
//	 8  version, 1
//	16  flags; bit 0: the proof is filled in
//	24  rows of a, b, c; 32: inputs, the leading one included; 40: aux
//	48  a_aux density: length in bits, 56: popcount
//	64  b_inputs density: the same two; 80: b_aux density: the same two
//	96  a, b, c [rows each]; inputs; aux; the words of a_aux, b_inputs, b_aux
//	    r, s; A (48 bytes), B (96), C (48), compressed; end of file
package gv

import (
	"errors"
	"fmt"
	"os"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/libcuzk/libcuzk/engine/groth16"
)

// ErrFormat is returned for bytes that are not a .gv file of a known version.
var ErrFormat = errors.New("not a valid .gv file")

const (
	magic      = "CUZKGV01"
	version    = 1
	flagProof  = 1 // bit 0 of flags
	headerSize = 96
	proofSize  = 48 + 96 + 48 // A, B, C compressed
)

// File is the content of a .gv file.
//
// Scalars are taken as they are: whether they lie below the modulus, and
// whether densities match their popcounts, is for the engine to check, so that
// a file can hold a case that must be refused.
type File struct {
	Assignment groth16.Assignment
	C          []fr.Element // [rows] a·b on every row of a satisfied circuit
	R, S       fr.Element
	Proof      *groth16.Proof // what r and s give; nil if the file leaves it out
}

// Read reads the file at path.
func Read(path string) (*File, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("gv: %w", err)
	}
	f, err := Decode(data)
	if err != nil {
		return nil, fmt.Errorf("%w (file %s)", err, path)
	}
	return f, nil
}
