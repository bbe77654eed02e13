package srs

import (
	"context"
	"fmt"
	"unsafe"

	bls "github.com/consensys/gnark-crypto/ecc/bls12-381"
)

// Sections gives the points of each section, in file order, as the bytes that
// Points shows: outside the Go heap, each section on pages of its own from the
// beginning of one, so that a device can register them. Nil for a section
// without points. They are read-only and valid until the last Release.
//
// A set from New whose points are not Paged is copied by the first call. Fails
// as Points does.
func (p *Params) Sections(ctx context.Context) ([][]byte, error) {
	points, err := p.Points(ctx)
	if err != nil {
		return nil, err
	}
	if points.Paged {
		return points.sections(), nil
	}
	done, err := p.beginLoading(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	if p.paged == nil {
		memory, paged, err := newPoints(p.counts)
		if err != nil {
			return nil, fmt.Errorf("srs: %s: %w", p.name, err)
		}
		for s := range Section(SectionBG2) {
			copy(paged.g1(s), points.g1(s))
		}
		copy(paged.BG2, points.BG2)
		p.memory, p.paged = memory, paged
	}
	return p.paged.sections(), nil
}

func (p *Points) sections() [][]byte {
	var out [][]byte
	for s := range Section(SectionBG2) {
		out = append(out, bytesOf(p.g1(s)))
	}
	return append(out, bytesOf(p.BG2))
}

// bytesOf views points as bytes.
func bytesOf[T bls.G1Affine | bls.G2Affine](points []T) []byte {
	if len(points) == 0 {
		return nil
	}
	// SAFETY: points hold no pointers; the view has their length and lifetime.
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(points))), len(points)*int(unsafe.Sizeof(points[0])))
}
