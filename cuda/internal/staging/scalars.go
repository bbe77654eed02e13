package staging

import (
	"fmt"
	"runtime"
	"unsafe"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/libcuzk/libcuzk/cuda/driver"
	"github.com/libcuzk/libcuzk/engine/groth16"
	"github.com/libcuzk/libcuzk/internal/hostmem"
	"github.com/libcuzk/libcuzk/internal/launch"
	"github.com/libcuzk/libcuzk/internal/modulus"
)

const (
	ScalarBytes = fr.Bytes
	// SlotScalars is how many scalars fill a slot.
	SlotScalars = SlotBytes / ScalarBytes
	// cacheScalars is how many scalars are checked and then copied: 1 MiB, which
	// the second-level cache holds, and from which on Go copies with stores
	// that pass the caches by.
	cacheScalars = 1 << 15
)

// Scalars is the segment that copies scalars to the device and checks them.
// read, if not nil, is called when each piece has been read.
func Scalars(name string, from []fr.Element, to launch.Range, block int, read func()) Segment {
	fill := func(piece int, s *Slot) (Work, error) {
		if read != nil {
			defer read()
		}
		first := piece * SlotScalars
		part := from[first:min(first+SlotScalars, len(from))]
		if i := copyChecked(scalarsIn(s.Memory), part); i >= 0 {
			return nil, scalarRange(name, first+i)
		}
		return CopyTo(s.Memory[:len(part)*ScalarBytes], to, first*ScalarBytes), nil
	}
	return Segment{Pieces: PiecesOf(len(from), SlotScalars), Block: block, Fill: fill}
}

// Bitmap is the segment that copies a density as the kernels read it.
func Bitmap(d groth16.Density, to launch.Range, block int) Segment {
	const slotWords = SlotBytes / densityWordBytes
	words := d.Words[:PiecesOf(d.Len, densityWordBits)]
	fill := func(piece int, s *Slot) (Work, error) {
		first := piece * slotWords
		n := copy(s.Memory, hostmem.BytesOf(words[first:min(first+slotWords, len(words))]))
		// The kernels' words are half as long: the last half may be past the end.
		n = min(n, int(to.Bytes)-first*densityWordBytes)
		return CopyTo(s.Memory[:n], to, first*densityWordBytes), nil
	}
	return Segment{Pieces: PiecesOf(len(words), slotWords), Block: block, Fill: fill}
}

const (
	densityWordBits  = 64
	densityWordBytes = densityWordBits / 8
)

// CopyTo enqueues the copy of pinned memory to an offset of a range.
func CopyTo(from []byte, to launch.Range, offset int) Work {
	at := driver.DevicePtr(to.Slice(uint64(offset), uint64(len(from))).Addr)
	return func(b *driver.Bound, s driver.Stream) error { return b.CopyToDevice(at, from, s) }
}

// PiecesOf is ceil(n / per).
func PiecesOf(n, per int) int { return (n + per - 1) / per }

func scalarRange(name string, index int) error {
	return fmt.Errorf("cuda: %w: %s[%d]", groth16.ErrScalarRange, name, index)
}

// copyChecked copies from to the start of to and returns the index of the
// first scalar not below the modulus, or -1. A caller that changes a scalar
// between check and copy is found out on the device.
func copyChecked(to, from []fr.Element) int {
	for first := 0; first < len(from); first += cacheScalars {
		part := from[first:min(first+cacheScalars, len(from))]
		for i := range part {
			if x := &part[i]; x[3] >= modulus.R[3] && !modulus.BelowR(x) {
				return first + i
			}
		}
		copy(to[first:], part)
		runtime.Gosched() // whoever holds a lock may wait for a place to run
	}
	return -1
}

// scalarsIn views pinned memory as scalars.
func scalarsIn(memory []byte) []fr.Element {
	if uintptr(unsafe.Pointer(unsafe.SliceData(memory)))%unsafe.Alignof(fr.Element{}) != 0 {
		panic(fmt.Sprintf("BUG: cuda: pinned memory at %p is not aligned", memory))
	}
	// SAFETY: aligned, within memory's length, and of its lifetime.
	return unsafe.Slice((*fr.Element)(unsafe.Pointer(unsafe.SliceData(memory))), len(memory)/ScalarBytes)
}
