package srs

import (
	"encoding/binary"
	"fmt"

	bls "github.com/consensys/gnark-crypto/ecc/bls12-381"
)

// open reads counts and verifying key. p is a newParams; on failure its source
// is left open.
func (p *Params) open(src source) error {
	p.source = src
	err := p.readHeader()
	// What looks like damage may be a file that is being replaced.
	if changed := src.Unchanged(); changed != nil {
		err = changed
	}
	if err != nil {
		return fmt.Errorf("srs: %s: %w", p.name, p.likely(err))
	}
	return nil
}

func (p *Params) readHeader() error {
	if p.source.Size() < headerBytes {
		return fmt.Errorf("verifying key: expected %d bytes, the file has %d: %w", headerBytes, p.source.Size(), ErrTruncated)
	}
	icOffset, err := p.readCounts()
	if err != nil {
		return err
	}
	if err := checkCounts(p.counts); err != nil {
		return err
	}
	if err := p.readKeyPoints(); err != nil {
		return err
	}
	return p.readIC(icOffset)
}

// readCounts walks over the file from count to count. Each section must end
// inside the file before the next count is looked at, so a count that is wrong
// is reported where it stands.
func (p *Params) readCounts() (icOffset int64, err error) {
	at, size := int64(headerBytes), p.source.Size()
	next := func(name string, pointBytes int, count *int) (int64, error) {
		if size-at < countBytes {
			return 0, fmt.Errorf("section %s: count at byte %d: expected %d bytes, the file has %d left: %w", name, at, countBytes, size-at, ErrTruncated)
		}
		var b [countBytes]byte
		if err := p.readAt(b[:], at); err != nil {
			return 0, fmt.Errorf("section %s: count: %w", name, err)
		}
		n := int64(binary.BigEndian.Uint32(b[:]))
		first := at + countBytes
		if need := n * int64(pointBytes); need > size-first {
			return 0, fmt.Errorf("section %s: its count of %d points at byte %d announces %d bytes, the file has %d left: %w", name, n, at, need, size-first, ErrTruncated)
		}
		*count, at = int(n), first+n*int64(pointBytes)
		return first, nil
	}

	if icOffset, err = next("ic", G1Bytes, &p.counts.IC); err != nil {
		return 0, err
	}
	for s, count := range []*int{&p.counts.H, &p.counts.L, &p.counts.A, &p.counts.BG1, &p.counts.BG2} {
		section := Section(s)
		if p.offsets[s], err = next(section.String(), section.PointBytes(), count); err != nil {
			return 0, err
		}
	}
	if at != size && !p.options.AllowTrailing {
		return 0, fmt.Errorf("the sections end at byte %d, the file at byte %d: %w", at, size, ErrTrailing)
	}
	return icOffset, nil
}

// readKeyPoints reads the six fixed points of the verifying key.
func (p *Params) readKeyPoints() error {
	var header [headerBytes]byte
	if err := p.readAt(header[:], 0); err != nil {
		return fmt.Errorf("verifying key: %w", err)
	}
	at := 0
	for _, point := range []struct {
		name string
		g1   *bls.G1Affine
		g2   *bls.G2Affine
	}{
		{"alpha_g1", &p.vk.AlphaG1, nil}, {"beta_g1", &p.vk.BetaG1, nil},
		{"beta_g2", nil, &p.vk.BetaG2}, {"gamma_g2", nil, &p.vk.GammaG2},
		{"delta_g1", &p.vk.DeltaG1, nil}, {"delta_g2", nil, &p.vk.DeltaG2},
	} {
		var err error
		size := G1Bytes
		if point.g1 != nil {
			err = checkedG1(header[at:], point.g1)
		} else {
			size = G2Bytes
			err = checkedG2(header[at:], point.g2)
		}
		if err != nil {
			return fmt.Errorf("verifying key: %s at byte %d: %w", point.name, at, err)
		}
		at += size
	}
	return nil
}

func checkedG1(b []byte, p *bls.G1Affine) error {
	if err := decodeG1((*[G1Bytes]byte)(b[:G1Bytes]), p); err != nil {
		return err
	}
	if p.IsInfinity() {
		return ErrInfinity
	}
	if !p.IsInSubGroup() {
		return ErrNotInSubgroup
	}
	return nil
}

func checkedG2(b []byte, p *bls.G2Affine) error {
	if err := decodeG2((*[G2Bytes]byte)(b[:G2Bytes]), p); err != nil {
		return err
	}
	if p.IsInfinity() {
		return ErrInfinity
	}
	if !p.IsInSubGroup() {
		return ErrNotInSubgroup
	}
	return nil
}

// readIC reads the input points tile by tile and lets the list grow with what
// has proved valid: the count alone, which may be hostile, allocates nothing.
func (p *Params) readIC(offset int64) error {
	var raw [256 * G1Bytes]byte
	for first := 0; first < p.counts.IC; {
		tile := min(len(raw)/G1Bytes, p.counts.IC-first)
		at := offset + int64(first)*G1Bytes
		if err := p.readAt(raw[:tile*G1Bytes], at); err != nil {
			return fmt.Errorf("section ic: point %d: %w", first, err)
		}
		points := make([]bls.G1Affine, tile)
		for i := range points {
			if err := decodeG1((*[G1Bytes]byte)(raw[i*G1Bytes:]), &points[i]); err != nil {
				return pointError("ic", first+i, at+int64(i)*G1Bytes, err)
			}
			if points[i].IsInfinity() {
				return pointError("ic", first+i, at+int64(i)*G1Bytes, ErrInfinity)
			}
		}
		if i := outsideSubgroupG1(points); i >= 0 {
			return pointError("ic", first+i, at+int64(i)*G1Bytes, ErrNotInSubgroup)
		}
		p.vk.IC = append(p.vk.IC, points...)
		first += tile
	}
	return nil
}

func pointError(section string, index int, offset int64, err error) error {
	return fmt.Errorf("section %s: point %d at byte %d: %w", section, index, offset, err)
}
