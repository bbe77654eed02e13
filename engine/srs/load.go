package srs

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"sync"
	"unsafe"

	bls "github.com/consensys/gnark-crypto/ecc/bls12-381"

	"github.com/libcuzk/libcuzk/engine/groth16"
	"github.com/libcuzk/libcuzk/internal/hostmem"
)

// tilePoints is how many points one goroutine reads, converts and checks at a
// time: 768 KiB in G1, large enough for a disk and small enough for a cache.
const tilePoints = 8192

// tile is a run of points of one section.
type tile struct {
	section      Section
	first, count int
}

// load reads all sections into new memory. Called with the loading token held.
func (p *Params) load(ctx context.Context) error {
	memory, points, err := newPoints(p.counts)
	if err != nil {
		return fmt.Errorf("srs: %s: %w", p.name, err)
	}
	err = p.loadTiles(ctx, points)
	// What looks like damage may be a file that is being replaced.
	if ctx.Err() == nil {
		if changed := p.source.Unchanged(); changed != nil {
			err = changed
		}
	}
	if err != nil {
		hostmem.Free(memory)
		return fmt.Errorf("srs: %s: %w", p.name, p.likely(err))
	}
	p.memory, p.points = memory, points
	return nil
}

// loadTiles takes tiles in file order on all cores. A failing tile stops the
// taking; the tiles before it are taken already and run to their end, so the
// error returned is that of the first bad point in the file, on every run.
func (p *Params) loadTiles(ctx context.Context, points *Points) error {
	tiles := p.tiles()
	var (
		mu       sync.Mutex
		next     int          // guarded by mu
		failedAt = len(tiles) // guarded by mu
		failure  error        // guarded by mu
		workers  sync.WaitGroup
	)
	take := func() (int, bool) {
		mu.Lock()
		defer mu.Unlock()
		if failure != nil || next == len(tiles) || ctx.Err() != nil {
			return 0, false
		}
		next++
		return next - 1, true
	}
	for range min(runtime.GOMAXPROCS(0), len(tiles)) {
		workers.Go(func() {
			raw := make([]byte, tilePoints*G2Bytes)
			for i, ok := take(); ok; i, ok = take() {
				if err := p.loadTile(tiles[i], raw, points); err != nil {
					mu.Lock()
					if i < failedAt {
						failedAt, failure = i, err
					}
					mu.Unlock()
				}
			}
		})
	}
	workers.Wait()
	if failure != nil {
		return failure
	}
	return context.Cause(ctx)
}

func (p *Params) tiles() []tile {
	var out []tile
	for s := range Section(sectionCount) {
		n := s.Count(p.counts)
		for first := 0; first < n; first += tilePoints {
			out = append(out, tile{s, first, min(tilePoints, n-first)})
		}
	}
	return out
}

// loadTile reads one tile through raw and converts it into its place.
func (p *Params) loadTile(t tile, raw []byte, points *Points) error {
	size := t.section.PointBytes()
	raw = raw[:t.count*size]
	offset := p.offsets[t.section] + int64(t.first)*int64(size)
	if err := p.readAt(raw, offset); err != nil {
		return fmt.Errorf("section %s: point %d: %w", t.section, t.first, err)
	}
	var bad int
	var err error
	if t.section == SectionBG2 {
		bad, err = p.convertG2(raw, points.BG2[t.first:t.first+t.count])
	} else {
		bad, err = p.convertG1(raw, points.g1(t.section)[t.first:t.first+t.count])
	}
	if err != nil {
		return pointError(t.section.String(), t.first+bad, offset+int64(bad*size), err)
	}
	return nil
}

// convertG1 converts and checks a tile; on failure it gives the index in it.
func (p *Params) convertG1(raw []byte, out []bls.G1Affine) (int, error) {
	for i := range out {
		if err := decodeG1((*[G1Bytes]byte)(raw[i*G1Bytes:]), &out[i]); err != nil {
			return i, err
		}
		if !p.options.AllowInfinity && out[i].IsInfinity() {
			return i, ErrInfinity
		}
	}
	if p.options.SubgroupCheck {
		if i := outsideSubgroupG1(out); i >= 0 {
			return i, ErrNotInSubgroup
		}
	}
	return 0, nil
}

func (p *Params) convertG2(raw []byte, out []bls.G2Affine) (int, error) {
	for i := range out {
		if err := decodeG2((*[G2Bytes]byte)(raw[i*G2Bytes:]), &out[i]); err != nil {
			return i, err
		}
		if !p.options.AllowInfinity && out[i].IsInfinity() {
			return i, ErrInfinity
		}
	}
	if p.options.SubgroupCheck {
		if i := outsideSubgroupG2(out); i >= 0 {
			return i, ErrNotInSubgroup
		}
	}
	return 0, nil
}

// outsideSubgroupG1 gives the first point not in the subgroup, or -1. Many
// points are tested together by random sums, which miss a bad one with
// probability below 2^-64; only then one by one.
func outsideSubgroupG1(points []bls.G1Affine) int {
	if bls.IsInSubGroupBatchG1(points) {
		return -1
	}
	for i := range points {
		if !points[i].IsInSubGroup() {
			return i
		}
	}
	return -1
}

func outsideSubgroupG2(points []bls.G2Affine) int {
	if bls.IsInSubGroupBatchG2(points) {
		return -1
	}
	for i := range points {
		if !points[i].IsInSubGroup() {
			return i
		}
	}
	return -1
}

// newPoints lays the sections out in one block of memory, each at a page so
// that a device can register them one by one.
func newPoints(c groth16.Counts) ([]byte, *Points, error) {
	page := os.Getpagesize()
	var offsets [sectionCount]int
	total := 0
	for s := range Section(sectionCount) {
		offsets[s] = total
		total += (s.Count(c)*s.PointBytes() + page - 1) / page * page
	}
	memory, err := hostmem.Alloc(total)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrMemory, err)
	}
	g1 := func(s Section) []bls.G1Affine { return overlay[bls.G1Affine](memory, offsets[s], s.Count(c)) }
	return memory, &Points{
		H: g1(SectionH), L: g1(SectionL), A: g1(SectionA), BG1: g1(SectionBG1),
		BG2: overlay[bls.G2Affine](memory, offsets[SectionBG2], c.BG2), Paged: true,
	}, nil
}

// overlay sees count values of T in memory from offset on.
func overlay[T any](memory []byte, offset, count int) []T {
	if count == 0 {
		return nil
	}
	// SAFETY: the range lies inside memory, is page aligned, and T holds no
	// pointers. memory is kept by Params until its last Release.
	return unsafe.Slice((*T)(unsafe.Pointer(&memory[offset])), count)
}

// g1 is the list of a section in G1.
func (p *Points) g1(s Section) []bls.G1Affine {
	return [...][]bls.G1Affine{p.H, p.L, p.A, p.BG1}[s]
}
