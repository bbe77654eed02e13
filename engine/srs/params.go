package srs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	bls "github.com/consensys/gnark-crypto/ecc/bls12-381"

	"github.com/libcuzk/libcuzk/engine/groth16"
)

// Options say how strictly a file is read.
type Options struct {
	// SubgroupCheck also checks that every point has order r, which takes
	// about fifty times as long as the rest. The verifying key is
	// always checked.
	SubgroupCheck bool
	// AllowInfinity takes infinity in h, l, a, b_g1 and b_g2. bellperson
	// refuses it: setup leaves such points out.
	AllowInfinity bool
	// AllowTrailing takes bytes after the last section, as bellperson does.
	AllowTrailing bool
}

// Points are the points of a set, affine and in Montgomery form, infinity as
// (0, 0). They lie outside the Go heap, are read-only, and are valid until the
// last Release of their Params: hold a reference while using them.
type Points struct {
	H, L, A, BG1 []bls.G1Affine
	BG2          []bls.G2Affine

	// Paged says of points given to New that they lie outside the Go heap, each
	// list on pages of its own from the beginning of one, as those read from a
	// file do: Sections then gives them without a copy.
	Paged bool
}

// Counts are the lengths of the five lists; ic is that of the verifying key.
func (p *Points) counts(ic int) groth16.Counts {
	return groth16.Counts{IC: ic, H: len(p.H), L: len(p.L), A: len(p.A), BG1: len(p.BG1), BG2: len(p.BG2)}
}

// Params is a parameter set, from Open or New. It is reference counted and
// starts with one reference. All methods may be called from many goroutines.
type Params struct {
	name    string
	options Options
	counts  groth16.Counts
	vk      groth16.VerifyingKey
	source  source // nil for a set from New

	offsets [sectionCount]int64 // of each section's first point in the file

	refsMu sync.Mutex
	refs   int    // guarded by refsMu
	onFree func() // called once, when refs became 0

	loading chan struct{} // holds one token while a goroutine reads points
	points  *Points       // set once, by the holder of the token
	paged   *Points       // the copy of points that are not Paged; as points
	memory  []byte        // under points, or under paged
}

// source is a file, or in tests bytes.
type source interface {
	io.ReaderAt
	io.Closer
	// Size is the length when the source was opened.
	Size() int64
	// Unchanged fails with ErrChanged if the content is not what it was then.
	Unchanged() error
}

// New makes a set from points in memory, which it does not copy and which must
// not change. They are taken to be valid; only the counts are checked. Fails
// with ErrCounts.
func New(vk *groth16.VerifyingKey, points *Points) (*Params, error) {
	counts := points.counts(len(vk.IC))
	if err := checkCounts(counts); err != nil {
		return nil, fmt.Errorf("srs: set in memory: %w", err)
	}
	p := newParams("set in memory", Options{AllowInfinity: true})
	p.counts, p.vk, p.points = counts, *vk, points
	return p, nil
}

func newParams(name string, options Options) *Params {
	return &Params{name: name, options: options, refs: 1, loading: make(chan struct{}, 1)}
}

// Name is the path that the set was opened from, for messages.
func (p *Params) Name() string { return p.name }

// Counts are the numbers of points.
func (p *Params) Counts() groth16.Counts { return p.counts }

// VerifyingKey is the set's own verifying key; read-only.
func (p *Params) VerifyingKey() *groth16.VerifyingKey { return &p.vk }

// FileBytes is the length of the set as a file.
func (p *Params) FileBytes() int64 {
	bytes := int64(headerBytes + countBytes + G1Bytes*p.counts.IC)
	return bytes + int64(sectionCount*countBytes) + p.PointBytes()
}

// PointBytes is the size of the points of all sections, the verifying key's
// not among them; the same in the file and in memory.
func (p *Params) PointBytes() int64 {
	var bytes int64
	for s := range Section(sectionCount) {
		bytes += int64(s.Count(p.counts)) * int64(s.PointBytes())
	}
	return bytes
}

// beginLoading makes this the only call that makes points, and holds a reference
// meanwhile; done ends both.
func (p *Params) beginLoading(ctx context.Context) (done func(), err error) {
	if err := p.Retain(); err != nil {
		return nil, err
	}
	select {
	case p.loading <- struct{}{}:
		return func() {
			<-p.loading
			_ = p.Release() // cannot fail: there was a reference
		}, nil
	case <-ctx.Done():
		_ = p.Release()
		return nil, context.Cause(ctx)
	}
}

// Points gives the points, which the first call reads from the file, converts
// and checks on all cores. Concurrent calls share that one reading. If ctx
// ends, the call returns its error and the next call starts again.
//
// Fails with ErrEncoding, ErrNotCanonical, ErrNotOnCurve, ErrNotInSubgroup,
// ErrInfinity, ErrChanged, ErrRead, ErrMemory or ErrReleased.
func (p *Params) Points(ctx context.Context) (*Points, error) {
	done, err := p.beginLoading(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	if p.points != nil {
		return p.points, nil
	}
	if err := p.load(ctx); err != nil {
		return nil, err
	}
	return p.points, nil
}

// ReadSection reads count points of a section, from point first on, into buf
// as they are in the file: uncompressed, big endian, unchecked. It returns the
// bytes written, count·PointBytes. When the last piece has been read, call
// Unchanged. Fails with ErrRange, ErrRead, ErrChanged or ErrReleased.
func (p *Params) ReadSection(section Section, first, count int, buf []byte) (int, error) {
	if section < 0 || int(section) >= sectionCount {
		return 0, fmt.Errorf("srs: %s: no such section: %w", p.name, ErrRange)
	}
	// Written so that no sum can overflow.
	if have := section.Count(p.counts); first < 0 || count < 0 || first > have || count > have-first {
		return 0, fmt.Errorf("srs: %s: section %s: %d points from point %d asked of %d: %w", p.name, section, count, first, have, ErrRange)
	}
	bytes := count * section.PointBytes()
	if len(buf) < bytes {
		return 0, fmt.Errorf("srs: %s: section %s: %d points take %d bytes, the buffer has %d: %w", p.name, section, count, bytes, len(buf), ErrRange)
	}
	if err := p.Retain(); err != nil {
		return 0, err
	}
	defer p.Release() //nolint:errcheck // cannot fail: this call holds a reference
	if p.source == nil {
		p.points.encode(section, first, count, buf)
		return bytes, nil
	}
	offset := p.offsets[section] + int64(first)*int64(section.PointBytes())
	if err := p.readAt(buf[:bytes], offset); err != nil {
		return 0, fmt.Errorf("srs: %s: section %s: point %d: %w", p.name, section, first, err)
	}
	return bytes, nil
}

// Unchanged fails with ErrChanged if the file's length or modification time
// are not what they were when it was opened.
func (p *Params) Unchanged() error {
	if err := p.Retain(); err != nil {
		return err
	}
	defer p.Release() //nolint:errcheck // cannot fail: this call holds a reference
	if p.source == nil {
		return nil
	}
	if err := p.source.Unchanged(); err != nil {
		return fmt.Errorf("srs: %s: %w", p.name, err)
	}
	return nil
}

// readAt fills b. The range was checked against the length at opening, so an
// early end means that the file was cut since.
func (p *Params) readAt(b []byte, offset int64) error {
	n, err := p.source.ReadAt(b, offset)
	switch {
	case n == len(b):
		return nil
	case errors.Is(err, io.EOF):
		return fmt.Errorf("%d bytes at byte %d: the file now ends at byte %d: %w", len(b), offset, offset+int64(n), ErrChanged)
	default:
		return fmt.Errorf("%d bytes at byte %d: %w: %w", len(b), offset, ErrRead, err)
	}
}

// Options are those that the set was opened with.
func (p *Params) Options() Options { return p.options }
