package ondevice

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"sync/atomic"
	"unsafe"

	bls "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"golang.org/x/sync/errgroup"

	"github.com/libcuzk/libcuzk/engine/groth16"
	"github.com/libcuzk/libcuzk/engine/srs"
	"github.com/libcuzk/libcuzk/internal/circuits/synth"
	"github.com/libcuzk/libcuzk/internal/hostmem"
	"github.com/libcuzk/libcuzk/internal/launch"
)

// Set is a parameter set in host memory outside the Go heap.
type Set struct {
	Key    *groth16.VerifyingKey
	Points srs.Points
	memory []byte // under Points
}

// Params is the set as provers take it. Its memory stays the Set's: call Free
// once nothing uses the parameters any more.
func (s *Set) Params() (*srs.Params, error) { return srs.New(s.Key, &s.Points) }

// Free gives the points' memory back; they must not be used any more.
func (s *Set) Free() {
	memory := s.memory
	s.memory, s.Points = nil, srs.Points{}
	hostmem.Free(memory)
}

// section is one list of points to make.
type section struct {
	group   launch.Group
	scalars []fr.Element
}

func (s section) bytes() int { return len(s.scalars) * int(s.group.AffineBytes()) }

// sectionsOf are the sections of a set in file order.
func sectionsOf(e *synth.Exponents) []section {
	return []section{{launch.G1, e.H}, {launch.G1, e.L}, {launch.G1, e.A}, {launch.G1, e.B}, {launch.G2, e.B}}
}

// Points makes the points and the verifying key of a set. The caller owns the
// set and frees it.
func (m *Maker) Points(ctx context.Context, e *synth.Exponents) (*Set, error) {
	sections := sectionsOf(e)
	total := 0
	for _, s := range sections {
		total += paged(s.bytes())
	}
	memory, err := hostmem.AllocLater(total)
	if err != nil {
		return nil, fmt.Errorf("ondevice: points: %w", err)
	}
	set := &Set{Key: e.VerifyingKey(), memory: memory}
	starts := make([]int, len(sections))
	at := 0
	for i, s := range sections {
		starts[i] = at
		at += paged(s.bytes())
	}
	err = m.run(ctx, sections, false, func(section, offset int, points []byte) error {
		copy(memory[starts[section]+offset:], points)
		return nil
	})
	if err != nil {
		hostmem.Free(memory)
		return nil, fmt.Errorf("ondevice: %w", err)
	}
	set.Points = srs.Points{
		H:   pointsAt[bls.G1Affine](memory, starts[srs.SectionH], len(e.H)),
		L:   pointsAt[bls.G1Affine](memory, starts[srs.SectionL], len(e.L)),
		A:   pointsAt[bls.G1Affine](memory, starts[srs.SectionA], len(e.A)),
		BG1: pointsAt[bls.G1Affine](memory, starts[srs.SectionBG1], len(e.B)),
		BG2: pointsAt[bls.G2Affine](memory, starts[srs.SectionBG2], len(e.B)), Paged: true,
	}
	return set, nil
}

// paged rounds bytes up to whole pages: each section has pages of its own, so
// that a device can register them one by one.
func paged(bytes int) int {
	page := os.Getpagesize()
	return (bytes + page - 1) / page * page
}

// pointsAt views n points in memory.
func pointsAt[P any](memory []byte, offset, n int) []P {
	if n == 0 {
		return nil
	}
	// SAFETY: memory is mapped until Set.Free, holds n points from offset on,
	// and sections begin at pages.
	return unsafe.Slice((*P)(unsafe.Pointer(&memory[offset])), n)
}

// countBytes is the length of a section's count, a u32 big endian. Source:
// package srs, "The file".
const countBytes = 4

// Write writes a parameter set as a file, points encoded on the device. Parts
// are written in any order and from several goroutines.
func (m *Maker) Write(ctx context.Context, w io.WriterAt, e *synth.Exponents) error {
	sections := sectionsOf(e)
	// A set without points is the verifying key and the sections' counts, 0.
	var head bytes.Buffer
	if err := srs.Write(&head, e.VerifyingKey(), &srs.Points{}); err != nil {
		return err
	}
	head.Truncate(head.Len() - len(sections)*countBytes)
	if _, err := w.WriteAt(head.Bytes(), 0); err != nil {
		return fmt.Errorf("ondevice: write: verifying key: %w", err)
	}
	starts, at := make([]int64, len(sections)), int64(head.Len())
	for i, s := range sections {
		if len(s.scalars) > math.MaxUint32 {
			return fmt.Errorf("ondevice: write: section %s: %d points, at most %d fit", srs.Section(i), len(s.scalars), uint32(math.MaxUint32))
		}
		count := binary.BigEndian.AppendUint32(nil, uint32(len(s.scalars)))
		if _, err := w.WriteAt(count, at); err != nil {
			return fmt.Errorf("ondevice: write: section %s: %w", srs.Section(i), err)
		}
		starts[i] = at + countBytes
		at = starts[i] + int64(s.bytes())
	}
	err := m.run(ctx, sections, true, func(section, offset int, points []byte) error {
		_, err := w.WriteAt(points, starts[section]+int64(offset))
		return err
	})
	if err != nil {
		return fmt.Errorf("ondevice: write: %w", err)
	}
	return nil
}

// run makes the points of all sections, in pieces, and calls deliver for each
// from several goroutines: its section, where in the section it lies, in
// bytes, and the points, which deliver must not keep.
func (m *Maker) run(ctx context.Context, sections []section, asInFile bool, deliver func(section, offset int, points []byte) error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	type piece struct{ section, first, n int }
	size := m.pieceSize(sections)
	var pieces []piece
	for i, s := range sections {
		step := size >> s.group // of G2 half as many
		for first := 0; first < len(s.scalars); first += step {
			pieces = append(pieces, piece{i, first, min(step, len(s.scalars)-first)})
		}
	}
	var next atomic.Int64
	group, ctx := errgroup.WithContext(ctx)
	for _, t := range m.threads[:min(len(m.threads), len(pieces))] {
		group.Go(func() (err error) {
			producer, err := m.newProducer(t, size)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, producer.release()) }()
			for {
				i := int(next.Add(1)) - 1
				if i >= len(pieces) {
					return nil
				}
				if ctx.Err() != nil {
					return context.Cause(ctx)
				}
				p := pieces[i]
				s := sections[p.section]
				points, err := producer.multiply(s.group, s.scalars[p.first:p.first+p.n], asInFile)
				if err == nil {
					err = deliver(p.section, p.first*int(s.group.AffineBytes()), points)
				}
				if err != nil {
					return fmt.Errorf("section %s, %d points from point %d on: %w", srs.Section(p.section), p.n, p.first, err)
				}
			}
		})
	}
	return group.Wait()
}

// pieceSize is the points of a piece in G1, even: small sets are spread over
// the producers and take small buffers.
func (m *Maker) pieceSize(sections []section) int {
	const minPoints = 1 << 10
	longest := 0
	for _, s := range sections {
		longest = max(longest, len(s.scalars)<<s.group)
	}
	share := (longest + len(m.threads) - 1) / len(m.threads)
	return min(max((share+1)/2*2, minPoints), m.maxPoints)
}
