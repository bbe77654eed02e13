package srs

import (
	"fmt"

	bls "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fp"
)

// Flags in the first byte of an encoded point.
const (
	flagCompressed = 0x80
	flagInfinity   = 0x40
	flagSign       = 0x20 // of y; only for compressed points
	flagMask       = flagCompressed | flagInfinity | flagSign
)

// Coefficients b of y² = x³ + b: 4 in G1 and 4(1+u) in G2.
var curveB, twistB = func() (fp.Element, bls.E2) {
	_, b := bls.CurveCoefficients()
	return b, bls.E2{A0: b, A1: b}
}()

// decodeG1 reads an uncompressed point: canonical, on the curve; (0, 0) for
// infinity. It refuses x = 0, where the curve has its points of order 3.
func decodeG1(b *[G1Bytes]byte, p *bls.G1Affine) error {
	switch infinity, err := flags(b[:]); {
	case err != nil:
		return err
	case infinity:
		*p = bls.G1Affine{}
		return nil
	}
	if coordinate(b[0:], &p.X) != nil || coordinate(b[48:], &p.Y) != nil {
		return ErrNotCanonical
	}
	var left, right fp.Element
	left.Square(&p.Y)
	right.Square(&p.X).Mul(&right, &p.X).Add(&right, &curveB)
	if !left.Equal(&right) {
		return ErrNotOnCurve
	}
	if p.X.IsZero() {
		return ErrNotInSubgroup
	}
	return nil
}

// decodeG2 is decodeG1 for the twist.
func decodeG2(b *[G2Bytes]byte, p *bls.G2Affine) error {
	switch infinity, err := flags(b[:]); {
	case err != nil:
		return err
	case infinity:
		*p = bls.G2Affine{}
		return nil
	}
	if coordinate(b[0:], &p.X.A1) != nil || coordinate(b[48:], &p.X.A0) != nil ||
		coordinate(b[96:], &p.Y.A1) != nil || coordinate(b[144:], &p.Y.A0) != nil {
		return ErrNotCanonical
	}
	var left, right bls.E2
	left.Square(&p.Y)
	right.Square(&p.X).Mul(&right, &p.X).Add(&right, &twistB)
	if !left.Equal(&right) {
		return ErrNotOnCurve
	}
	return nil
}

func coordinate(b []byte, z *fp.Element) (err error) {
	*z, err = fp.BigEndian.Element((*[fp.Bytes]byte)(b[:fp.Bytes]))
	return err
}

// flags reads the flag bits and reports whether b is infinity.
func flags(b []byte) (infinity bool, err error) {
	switch b[0] & flagMask {
	case 0:
		return false, nil
	case flagInfinity:
		rest := b[0] &^ flagInfinity
		for _, x := range b[1:] {
			rest |= x
		}
		if rest != 0 {
			return false, fmt.Errorf("infinity flag 0x40 on a point that is not zero: %w", ErrEncoding)
		}
		return true, nil
	case flagSign:
		return false, fmt.Errorf("sign flag 0x20 on an uncompressed point: %w", ErrEncoding)
	default:
		return false, fmt.Errorf("first byte %#x has the compression flag 0x80: %w", b[0], ErrEncoding)
	}
}
