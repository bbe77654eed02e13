package gv

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/libcuzk/libcuzk/engine/groth16"
)

// Write writes f as a .gv file. It fails if a, b and c differ in length or a
// density has too few words. Without a Proof its bytes are zero.
func (f *File) Write(w io.Writer) error {
	a := &f.Assignment
	if len(a.B) != len(a.A) || len(f.C) != len(a.A) {
		return fmt.Errorf("gv: a, b and c must have one length, got %d, %d and %d rows", len(a.A), len(a.B), len(f.C))
	}
	out := writer{w: bufio.NewWriterSize(w, 1<<16)}
	out.header(f)
	for _, scalars := range [][]fr.Element{a.A, a.B, f.C, a.Inputs, a.Aux} {
		out.scalars(scalars)
	}
	for _, d := range []groth16.Density{a.AAux, a.BInputs, a.BAux} {
		words := (d.Len + 63) / 64
		if len(d.Words) < words {
			return fmt.Errorf("gv: density of %d bits: expected %d words, got %d", d.Len, words, len(d.Words))
		}
		out.words(d.Words[:words]...)
	}
	out.scalars([]fr.Element{f.R, f.S})
	out.proof(f.Proof)
	if out.err == nil {
		out.err = out.w.Flush()
	}
	if out.err != nil {
		return fmt.Errorf("gv: write: %w", out.err)
	}
	return nil
}

// writer keeps the first error, so that the layout reads as a list.
type writer struct {
	w   *bufio.Writer
	err error
}

func (o *writer) bytes(b []byte) {
	if o.err == nil {
		_, o.err = o.w.Write(b)
	}
}

func (o *writer) words(words ...uint64) {
	for _, word := range words {
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], word)
		o.bytes(b[:])
	}
}

func (o *writer) scalars(scalars []fr.Element) {
	for i := range scalars {
		o.words(scalars[i][:]...)
	}
}

func (o *writer) header(f *File) {
	a, flags := &f.Assignment, uint64(0)
	if f.Proof != nil {
		flags = flagProof
	}
	o.bytes([]byte(magic))
	o.words(version, flags, uint64(len(a.A)), uint64(len(a.Inputs)), uint64(len(a.Aux)))
	for _, d := range []groth16.Density{a.AAux, a.BInputs, a.BAux} {
		o.words(uint64(d.Len), uint64(d.Popcount))
	}
}

func (o *writer) proof(p *groth16.Proof) {
	if p == nil {
		o.bytes(make([]byte, proofSize))
		return
	}
	a, b, c := p.A.Bytes(), p.B.Bytes(), p.C.Bytes()
	o.bytes(a[:])
	o.bytes(b[:])
	o.bytes(c[:])
}
