package srs

import (
	"context"
	"fmt"
	"math/bits"
	"unsafe"

	bls "github.com/consensys/gnark-crypto/ecc/bls12-381"

	"github.com/libcuzk/libcuzk/engine/groth16"
)

const (
	// G1Bytes and G2Bytes are the sizes of a point, in the file (uncompressed)
	// and in memory (affine, Montgomery form) alike.
	G1Bytes = bls.SizeOfG1AffineUncompressed
	G2Bytes = bls.SizeOfG2AffineUncompressed

	countBytes   = 4                     // u32 big endian before each section
	headerBytes  = 3*G1Bytes + 3*G2Bytes // the six fixed points of the verifying key
	sectionCount = int(SectionBG2) + 1
)

// Section is one of the five lists of points that the sums run over, in file
// order.
type Section int

// The sections.
const (
	SectionH Section = iota
	SectionL
	SectionA
	SectionBG1
	SectionBG2
)

// String is the section's name as the file format's description has it.
func (s Section) String() string {
	if s < 0 || int(s) >= sectionCount {
		return fmt.Sprintf("section %d", int(s))
	}
	return [...]string{"h", "l", "a", "b_g1", "b_g2"}[s]
}

// PointBytes is the size of one point of s: G1Bytes or G2Bytes.
func (s Section) PointBytes() int {
	if s == SectionBG2 {
		return G2Bytes
	}
	return G1Bytes
}

// Count is the number of points of s in a set with counts c.
func (s Section) Count(c groth16.Counts) int {
	return [...]int{c.H, c.L, c.A, c.BG1, c.BG2}[s]
}

// checkCounts checks that the sections can belong to one circuit. Source:
// Groth, eprint 2016/260 §3.2, with bellperson's extra row for each input:
//
//	h is m-1 (some tools write m) for a domain m, a power of two
//	m >= rows >= inputs = ic >= 1
//	a holds every input and some aux:  ic <= a <= ic + l
//	b holds some inputs and some aux:  b_g1 = b_g2 <= ic + l
func checkCounts(c groth16.Counts) error {
	powerOfTwo := func(n int) bool { return bits.OnesCount(uint(n)) == 1 }
	for _, rule := range []struct {
		holds bool
		text  string
	}{
		{c.IC >= 1, fmt.Sprintf("ic: expected at least 1 point, got %d", c.IC)},
		{powerOfTwo(c.H) || powerOfTwo(c.H+1), fmt.Sprintf("h: expected a power of two or one less, got %d points", c.H)},
		{c.IC <= c.H+1, fmt.Sprintf("ic: expected at most %d points, one more than h has, got %d", c.H+1, c.IC)},
		{c.A >= c.IC, fmt.Sprintf("a: expected at least the %d points of the inputs, got %d", c.IC, c.A)},
		{c.A <= c.IC+c.L, fmt.Sprintf("a: expected at most ic + l = %d points, got %d", c.IC+c.L, c.A)},
		{c.BG1 == c.BG2, fmt.Sprintf("b_g2: expected as many points as b_g1, %d, got %d", c.BG1, c.BG2)},
		{c.BG1 <= c.IC+c.L, fmt.Sprintf("b_g1: expected at most ic + l = %d points, got %d", c.IC+c.L, c.BG1)},
	} {
		if !rule.holds {
			return fmt.Errorf("%s: %w", rule.text, ErrCounts)
		}
	}
	return nil
}

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
