package srs

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"

	bls "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"golang.org/x/sync/errgroup"

	"github.com/libcuzk/libcuzk/engine/groth16"
)

// Write writes a parameter file. Points are encoded on all cores, a few tiles
// ahead of the writing. Fails if a section is too long for its u32 count.
func Write(w io.Writer, vk *groth16.VerifyingKey, points *Points) error {
	if err := writeVerifyingKey(w, vk); err != nil {
		return fmt.Errorf("srs: write: verifying key: %w", err)
	}
	counts := points.counts(len(vk.IC))
	for s := range Section(sectionCount) {
		if err := writeSection(w, points, s, s.Count(counts)); err != nil {
			return fmt.Errorf("srs: write: section %s: %w", s, err)
		}
	}
	return nil
}

func writeVerifyingKey(w io.Writer, vk *groth16.VerifyingKey) error {
	out := make([]byte, 0, headerBytes+countBytes+G1Bytes*len(vk.IC))
	g1 := func(p *bls.G1Affine) { b := p.RawBytes(); out = append(out, b[:]...) }
	g2 := func(p *bls.G2Affine) { b := p.RawBytes(); out = append(out, b[:]...) }
	g1(&vk.AlphaG1)
	g1(&vk.BetaG1)
	g2(&vk.BetaG2)
	g2(&vk.GammaG2)
	g1(&vk.DeltaG1)
	g2(&vk.DeltaG2)
	count, err := encodeCount(len(vk.IC))
	if err != nil {
		return err
	}
	out = append(out, count[:]...)
	for i := range vk.IC {
		g1(&vk.IC[i])
	}
	_, err = w.Write(out)
	return err
}

func encodeCount(n int) (b [countBytes]byte, err error) {
	if n > math.MaxUint32 {
		return b, fmt.Errorf("%d points, at most %d fit: %w", n, uint32(math.MaxUint32), ErrCounts)
	}
	binary.BigEndian.PutUint32(b[:], uint32(n))
	return b, nil
}

// writeSection encodes blocks of tiles in parallel and writes each block once
// it is whole.
func writeSection(w io.Writer, points *Points, s Section, n int) error {
	count, err := encodeCount(n)
	if err != nil {
		return err
	}
	if _, err := w.Write(count[:]); err != nil {
		return err
	}
	const block = 16 * tilePoints
	size := s.PointBytes()
	raw := make([]byte, min(n, block)*size)
	for first := 0; first < n; first += block {
		end := min(first+block, n)
		var group errgroup.Group
		for at := first; at < end; at += tilePoints {
			group.Go(func() error {
				points.encode(s, at, min(tilePoints, end-at), raw[(at-first)*size:])
				return nil
			})
		}
		if err := group.Wait(); err != nil {
			return err
		}
		if _, err := w.Write(raw[:(end-first)*size]); err != nil {
			return err
		}
	}
	return nil
}

// encode writes count points of a section, from first on, as in a file.
func (p *Points) encode(s Section, first, count int, buf []byte) {
	for i := range count {
		if s == SectionBG2 {
			b := p.BG2[first+i].RawBytes()
			copy(buf[i*G2Bytes:], b[:])
		} else {
			b := p.g1(s)[first+i].RawBytes()
			copy(buf[i*G1Bytes:], b[:])
		}
	}
}
