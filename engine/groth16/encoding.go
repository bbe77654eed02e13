package groth16

import (
	"fmt"

	bls "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fp"

	"github.com/libcuzk/libcuzk/internal/modulus"
)

// ProofBytes is the length of an encoded proof: A and C in G1 take 48 bytes
// each, B in G2 takes 96.
const ProofBytes = 2*bls.SizeOfG1AffineCompressed + bls.SizeOfG2AffineCompressed

const (
	offsetB = bls.SizeOfG1AffineCompressed
	offsetC = offsetB + bls.SizeOfG2AffineCompressed
)

// Bytes encodes p as A, B, C, each compressed: big endian canonical x (for B
// x.c1 before x.c0), flags in the three top bits.
// Source: zkcrypto/bls12_381, notes on serialization (the zcash encoding).
func (p *Proof) Bytes() [ProofBytes]byte {
	var out [ProofBytes]byte
	a, b, c := p.A.Bytes(), p.B.Bytes(), p.C.Bytes()
	copy(out[:], a[:])
	copy(out[offsetB:], b[:])
	copy(out[offsetC:], c[:])
	return out
}

// ParseProof decodes what Bytes gives. Points outside the subgroup and, as by
// bellperson's Proof::read, at infinity are refused with ErrProofPoint or
// ErrEncoding.
func ParseProof(data []byte) (*Proof, error) {
	if len(data) != ProofBytes {
		return nil, fmt.Errorf("groth16: %w: %d bytes, expected %d", ErrEncoding, len(data), ProofBytes)
	}
	var p Proof
	for _, part := range []struct {
		name   string
		decode func([]byte) (int, error)
		data   []byte
	}{
		{"A", p.A.SetBytes, data[:offsetB]},
		{"B", p.B.SetBytes, data[offsetB:offsetC]},
		{"C", p.C.SetBytes, data[offsetC:]},
	} {
		// The decoder takes the uncompressed form by the same call; here the
		// flag that tells them apart must say compressed.
		const compressed = 0x80
		if part.data[0]&compressed == 0 {
			return nil, fmt.Errorf("groth16: %w: %s is not in compressed form", ErrEncoding, part.name)
		}
		if _, err := part.decode(part.data); err != nil {
			return nil, fmt.Errorf("groth16: %w: %s: %w", ErrEncoding, part.name, err)
		}
	}
	if err := p.checkFinite(); err != nil {
		return nil, err
	}
	if err := p.checkSubgroups(); err != nil {
		return nil, err
	}
	return &p, nil
}

// CheckReduced returns ErrScalarRange if a coordinate, as it lies in memory, is
// not below the modulus. Nothing else of p may be called before it if another
// program has written p.
func (p *Proof) CheckReduced() error {
	for _, c := range []struct {
		name  string
		value *fp.Element
	}{
		{"a.x", &p.A.X}, {"a.y", &p.A.Y},
		{"b.x.c0", &p.B.X.A0}, {"b.x.c1", &p.B.X.A1}, {"b.y.c0", &p.B.Y.A0}, {"b.y.c1", &p.B.Y.A1},
		{"c.x", &p.C.X}, {"c.y", &p.C.Y},
	} {
		if !modulus.BelowP(c.value) {
			return fmt.Errorf("groth16: %w: proof.%s", ErrScalarRange, c.name)
		}
	}
	return nil
}

// checkFinite returns ErrProofPoint if A, B or C is at infinity.
func (p *Proof) checkFinite() error {
	for _, part := range []struct {
		name     string
		infinite bool
	}{{"A", p.A.IsInfinity()}, {"B", p.B.IsInfinity()}, {"C", p.C.IsInfinity()}} {
		if part.infinite {
			return fmt.Errorf("groth16: %w: %s is at infinity", ErrProofPoint, part.name)
		}
	}
	return nil
}

// checkSubgroups returns ErrProofPoint unless A, B and C are on the curve and
// in the prime-order subgroup, in which infinity is.
func (p *Proof) checkSubgroups() error {
	for _, part := range []struct {
		name     string
		infinite bool
		good     func() bool
	}{
		{"A", p.A.IsInfinity(), p.A.IsInSubGroup},
		{"B", p.B.IsInfinity(), p.B.IsInSubGroup},
		{"C", p.C.IsInfinity(), p.C.IsInSubGroup},
	} {
		if !part.infinite && !part.good() {
			return fmt.Errorf("groth16: %w: %s is not in the prime-order subgroup of the curve", ErrProofPoint, part.name)
		}
	}
	return nil
}
