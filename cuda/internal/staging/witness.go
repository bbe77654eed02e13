package staging

import (
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/libcuzk/libcuzk/cuda/driver"
	"github.com/libcuzk/libcuzk/internal/hostmem"
	"github.com/libcuzk/libcuzk/internal/launch"
	"github.com/libcuzk/libcuzk/internal/modulus"
)

const (
	// pieceVars is how many aux variables are classified at a time. A slot
	// holds their bitmap and, if they are all dense, their indices and values.
	pieceVars = 1 << 16

	wordBits   = 32
	wordBytes  = wordBits / 8
	indexBytes = 4

	pieceBitmapBytes = pieceVars / 8
	pieceIndexBytes  = pieceVars * indexBytes
)

// oneMontgomery is 1 in Montgomery form.
var oneMontgomery = fr.One()

// DenseList is where a job's scalars other than 0 and 1 go on the device:
// entries in any order, each an aux variable's index and its value.
type DenseList struct {
	Indices  launch.Range // u32[capacity]
	Values   launch.Range // Fr[capacity]
	Capacity int

	taken atomic.Int64 // entries asked for; beyond capacity they are left

	mu   sync.Mutex
	left []leftover // guarded by mu
}

// leftover is a piece whose dense values did not all fit: those before skip
// have been sent.
type leftover struct{ piece, skip int }

// take reserves room for up to n entries of a piece and returns where.
func (l *DenseList) take(piece, skip, n int) (at, fits int) {
	at = int(l.taken.Add(int64(n))) - n
	fits = min(n, max(l.Capacity-at, 0))
	if fits < n {
		l.mu.Lock()
		l.left = append(l.left, leftover{piece, skip + fits})
		l.mu.Unlock()
	}
	return at, fits
}

// Count is how many entries the list holds.
func (l *DenseList) Count() int { return min(int(l.taken.Load()), l.Capacity) }

// IsLeft reports whether values wait for another round.
func (l *DenseList) IsLeft() bool { return len(l.left) > 0 }

// refill empties the list for the next round and returns what is left for it.
func (l *DenseList) refill() []leftover {
	left := l.left
	l.left = nil
	l.taken.Store(0)
	slices.SortFunc(left, func(a, b leftover) int { return a.piece - b.piece })
	return left
}

// Aux is the segment that classifies the aux variables: a bitmap of those that
// are one goes to ones, those that are neither 0 nor 1 go to the list, as far
// as it holds.
func (l *DenseList) Aux(values []fr.Element, ones launch.Range, block int) Segment {
	fill := func(piece int, s *Slot) (Work, error) {
		return l.fill(values, leftover{piece: piece}, s, ones)
	}
	return Segment{Pieces: PiecesOf(len(values), pieceVars), Block: block, Fill: fill}
}

// Rest is the segment that sends what an earlier round left out, as far as the
// list holds.
func (l *DenseList) Rest(values []fr.Element, block int) Segment {
	left := l.refill()
	fill := func(i int, s *Slot) (Work, error) { return l.fill(values, left[i], s, launch.Range{}) }
	return Segment{Pieces: len(left), Block: block, Fill: fill}
}

// fill classifies one piece into a slot. The bitmap is sent unless ones is
// empty.
func (l *DenseList) fill(aux []fr.Element, of leftover, s *Slot, ones launch.Range) (Work, error) {
	first := of.piece * pieceVars
	vars := aux[first:min(first+pieceVars, len(aux))]
	bitmap, indices, values := split(s.Memory)
	n, bad := classify(vars, uint32(first), bitmap, indices, values)
	if bad >= 0 {
		return nil, scalarRange("aux", first+bad)
	}
	// n is below skip only if the caller changes the witness meanwhile.
	at, fits := l.take(of.piece, of.skip, max(n-of.skip, 0))
	var copies []Work
	if ones.Bytes > 0 {
		copies = append(copies, CopyTo(hostmem.BytesOf(bitmap[:PiecesOf(len(vars), wordBits)]), ones, of.piece*pieceBitmapBytes))
	}
	if fits > 0 {
		copies = append(copies,
			CopyTo(hostmem.BytesOf(indices[of.skip:of.skip+fits]), l.Indices, at*indexBytes),
			CopyTo(hostmem.BytesOf(values[of.skip:of.skip+fits]), l.Values, at*ScalarBytes))
	}
	return InOrder(copies), nil
}

// InOrder enqueues several things, in order.
func InOrder(of []Work) Work {
	return func(b *driver.Bound, s driver.Stream) error {
		for _, l := range of {
			if err := l(b, s); err != nil {
				return err
			}
		}
		return nil
	}
}

// split lays a slot out: bitmap, indices, values.
func split(memory []byte) (bitmap, indices []uint32, values []fr.Element) {
	words := func(m []byte) []uint32 {
		// SAFETY: pinned memory is page-aligned and the parts are multiples of
		// a page; within m's length, and of its lifetime.
		return unsafe.Slice((*uint32)(unsafe.Pointer(unsafe.SliceData(m))), len(m)/wordBytes)
	}
	return words(memory[:pieceBitmapBytes]), words(memory[pieceBitmapBytes:][:pieceIndexBytes]),
		scalarsIn(memory[pieceBitmapBytes+pieceIndexBytes:])
}

// classify sets bit i of bitmap if vars[i] is one, and lists index first+i and
// value of those that are neither 0 nor 1. It returns how many, and the first
// i whose value is not below the modulus, or -1.
//
// Zeros and ones come in no order, so telling them apart by a branch would
// cost a misprediction for every other variable; only dense values, which are
// rare, take a branch here.
func classify(vars []fr.Element, first uint32, bitmap, indices []uint32, values []fr.Element) (n, bad int) {
	for base := 0; base < len(vars); base += wordBits {
		var word uint32
		part := vars[base:min(base+wordBits, len(vars))]
		for i := range part {
			x := &part[i]
			notZero := nonzero(x[0] | x[1] | x[2] | x[3])
			notOne := nonzero(x[0] ^ oneMontgomery[0] | x[1] ^ oneMontgomery[1] | x[2] ^ oneMontgomery[2] | x[3] ^ oneMontgomery[3])
			word |= uint32(notOne^1) << i
			if notZero&notOne == 0 {
				continue
			}
			if x[3] >= modulus.R[3] && !modulus.BelowR(x) {
				return n, base + i
			}
			indices[n] = first + uint32(base+i)
			values[n] = *x
			n++
		}
		bitmap[base/wordBits] = word
	}
	return n, -1
}

// nonzero is 1 if x is not 0, else 0.
func nonzero(x uint64) uint64 { return (x | -x) >> 63 }
