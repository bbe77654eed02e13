package gv

import (
	"encoding/binary"
	"fmt"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/libcuzk/libcuzk/engine/groth16"
)

// Decode reads a .gv file from memory. The result does not refer to data.
// Fails with ErrFormat.
func Decode(data []byte) (*File, error) {
	if len(data) < headerSize {
		return nil, fmt.Errorf("gv: header: expected %d bytes, got %d: %w", headerSize, len(data), ErrFormat)
	}
	if got := string(data[:len(magic)]); got != magic {
		return nil, fmt.Errorf("gv: magic: expected %q, got %q: %w", magic, got, ErrFormat)
	}
	var field [11]uint64
	for i := range field {
		field[i] = binary.LittleEndian.Uint64(data[8+8*i:])
	}
	if field[0] != version {
		return nil, fmt.Errorf("gv: version: expected %d, got %d: %w", version, field[0], ErrFormat)
	}
	if field[1]&^flagProof != 0 {
		return nil, fmt.Errorf("gv: flags: expected 0 or %d, got %#x: %w", flagProof, field[1], ErrFormat)
	}
	if err := checkSize(field, len(data)); err != nil {
		return nil, err
	}

	// checkSize bounds every count by the length of data, so int is enough.
	in := reader{data[headerSize:]}
	rows, inputs, aux := int(field[2]), int(field[3]), int(field[4])
	f := new(File)
	a := &f.Assignment
	a.A, a.B, f.C = in.scalars(rows), in.scalars(rows), in.scalars(rows)
	a.Inputs, a.Aux = in.scalars(inputs), in.scalars(aux)
	for i, d := range []*groth16.Density{&a.AAux, &a.BInputs, &a.BAux} {
		d.Len, d.Popcount = int(field[5+2*i]), int(field[6+2*i])
		d.Words = in.words((d.Len + 63) / 64)
	}
	rs := in.scalars(2)
	f.R, f.S = rs[0], rs[1]
	if field[1]&flagProof != 0 {
		var err error
		if f.Proof, err = in.proof(); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// checkSize compares the length of the file with what its counts add up to.
// A count above the length is refused on its own, so that nothing overflows.
func checkSize(field [11]uint64, length int) error {
	names := [...]string{"rows", "inputs", "aux", "a_aux bits", "a_aux popcount",
		"b_inputs bits", "b_inputs popcount", "b_aux bits", "b_aux popcount"}
	for i, name := range names {
		// A density holds up to 8 variables a byte.
		if limit := 8 * uint64(length); field[2+i] > limit {
			return fmt.Errorf("gv: %s: %d do not fit in a file of %d bytes: %w", name, field[2+i], length, ErrFormat)
		}
	}
	words := (field[5]+63)/64 + (field[7]+63)/64 + (field[9]+63)/64
	want := headerSize + fr.Bytes*(3*field[2]+field[3]+field[4]+2) + 8*words + proofSize
	if want != uint64(length) {
		return fmt.Errorf("gv: length: the counts add up to %d bytes, got %d: %w", want, length, ErrFormat)
	}
	return nil
}

// reader takes values off the front of a buffer known to be long enough.
type reader struct{ rest []byte }

func (r *reader) words(n int) []uint64 {
	out := make([]uint64, n)
	for i := range out {
		out[i] = binary.LittleEndian.Uint64(r.rest[8*i:])
	}
	r.rest = r.rest[8*n:]
	return out
}

func (r *reader) scalars(n int) []fr.Element {
	out := make([]fr.Element, n)
	for i := range out {
		for limb := range out[i] {
			out[i][limb] = binary.LittleEndian.Uint64(r.rest[fr.Bytes*i+8*limb:])
		}
	}
	r.rest = r.rest[fr.Bytes*n:]
	return out
}

func (r *reader) proof() (*groth16.Proof, error) {
	p := new(groth16.Proof)
	for _, point := range []struct {
		name string
		size int
		set  func([]byte) (int, error)
	}{{"A", 48, p.A.SetBytes}, {"B", 96, p.B.SetBytes}, {"C", 48, p.C.SetBytes}} {
		// The flag makes a decoder that accepts both encodings take this one.
		if r.rest[0]&0x80 == 0 {
			return nil, fmt.Errorf("gv: proof element %s is not compressed: %w", point.name, ErrFormat)
		}
		if _, err := point.set(r.rest[:point.size]); err != nil {
			return nil, fmt.Errorf("gv: proof element %s: %w: %w", point.name, err, ErrFormat)
		}
		r.rest = r.rest[point.size:]
	}
	return p, nil
}
