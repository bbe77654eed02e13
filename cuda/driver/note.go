package driver

import (
	"fmt"
	"unsafe"
)

// Access says what is done with a range.
type Access uint32

// Accesses; ReadWrite is both bits.
const (
	Read      Access = 1
	Write     Access = 2
	ReadWrite Access = Read | Write
)

// Range is a piece of device memory and what is done with it. Its layout is
// that of the simulator's cudasim_range.
type Range struct {
	Base  DevicePtr
	Bytes uint64
	Mode  Access
	_     uint32
}

// NoteKind says what a note to the simulator is about.
type NoteKind uint32

// Notes. Source: tests/cudasim/CONTRACT.md.
const (
	NoteLaunch NoteKind = 1 // the next launch of this thread touches the ranges, for the owner
	NoteClaim  NoteKind = 2 // the owner now holds the ranges
	NoteHandOn NoteKind = 3 // the owner gave the ranges back
	NoteCopy   NoteKind = 4 // the next copy or fill of this thread is for the owner
	NoteHost   NoteKind = 5 // the host changed or read pinned memory itself
)

// For says that the copies, fills and launches up to the end of this Do are
// for a job. With a real driver it means nothing.
func (b *Bound) For(owner uint64) { b.owner = owner }

// noteCopy announces a copy or fill.
func (b *Bound) noteCopy() {
	if b.d.fn.SimNote != nil {
		b.d.fn.SimNote(NoteCopy, b.owner, nil, 0)
	}
}

// maxRanges is how many ranges one note may hold.
const maxRanges = 64

// Note tells the simulator what a job does with memory, so that it can find
// uses before a fence, after hand-on, or outside what was declared. With a
// real driver it does nothing. owner is the job, or 0 for what the device keeps
// for all jobs.
func (b *Bound) Note(kind NoteKind, owner uint64, ranges ...Range) error {
	if b.d.fn.SimNote == nil {
		return nil
	}
	if len(ranges) > maxRanges {
		return fmt.Errorf("cuda: %d ranges in one note, at most %d are possible", len(ranges), maxRanges)
	}
	n := copy(b.scratch.ranges[:], ranges)
	b.d.fn.SimNote(kind, owner, unsafe.Pointer(b.scratch.ranges), uint64(n))
	return nil
}
