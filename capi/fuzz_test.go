package main

import (
	"encoding/binary"
	"math"
	"path/filepath"
	"testing"
	"unsafe"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/libcuzk/libcuzk/engine"
	"github.com/libcuzk/libcuzk/engine/groth16"
	"github.com/libcuzk/libcuzk/internal/circuits/gv"
)

const goldenDir = "../tests/golden"

// guarded copies values to memory that ends where a page begins that nobody
// may read: one element too far is a fault. room is how many elements are
// there, the last of them values.
func guarded[T any](tb testing.TB, values []T, room int) *T {
	page := unix.Getpagesize()
	size := room * int(unsafe.Sizeof(*new(T)))
	pages := (size + page - 1) / page
	memory, err := unix.Mmap(-1, 0, (pages+1)*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, unix.Munmap(memory)) })
	require.NoError(tb, unix.Mprotect(memory[pages*page:], unix.PROT_NONE))
	start := (*T)(unsafe.Pointer(&memory[pages*page-size]))
	copy(unsafe.Slice(start, room), values)
	return start
}

// addressOf is the address of a T in guarded memory, which stays where it is.
func addressOf[T any](p *T) address { return address(uintptr(unsafe.Pointer(p))) }

// toMutate is one golden assignment in guarded memory, as cuzk_assignment.
func toMutate(tb testing.TB, f *gv.File) *assignmentC {
	a := &f.Assignment
	// The domain allows more rows than there are; those are zero.
	rows := groth16.Domain(len(a.A))
	scalars := func(v []fr.Element, room int) address { return addressOf(guarded(tb, v, room)) }
	density := func(d groth16.Density) densityC {
		return densityC{words: addressOf(guarded(tb, d.Words, len(d.Words))), bit_len: sizeT(d.Len), popcount: sizeT(d.Popcount)}
	}
	return &assignmentC{
		struct_size: assignmentBytesABI1,
		a:           scalars(a.A, rows), b: scalars(a.B, rows), num_rows: sizeT(len(a.A)),
		inputs: scalars(a.Inputs, len(a.Inputs)), num_inputs: sizeT(len(a.Inputs)),
		aux: scalars(a.Aux, len(a.Aux)), num_aux: sizeT(len(a.Aux)),
		a_aux: density(a.AAux), b_inputs: density(a.BInputs), b_aux: density(a.BAux),
	}
}

// A mutation is 11 bytes: what, which, how, and a 64-bit value.
const mutationBytes = 11

func mutate(c *assignmentC, m []byte) {
	value := binary.LittleEndian.Uint64(m[3:])
	pointers := []*address{&c.a, &c.b, &c.c, &c.inputs, &c.aux, &c.a_aux.words, &c.b_inputs.words, &c.b_aux.words}
	counts := []*sizeT{
		&c.struct_size, &c.num_rows, &c.num_inputs, &c.num_aux, &c.a_aux.bit_len, &c.a_aux.popcount,
		&c.b_inputs.bit_len, &c.b_inputs.popcount, &c.b_aux.bit_len, &c.b_aux.popcount,
	}
	p, n := pointers[int(m[1])%len(pointers)], counts[int(m[1])%len(counts)]
	switch m[0] % 5 {
	case 0:
		*p = 0
	case 1: // misaligned: always refused, so that nothing past the end is read
		if *p%alignment == 0 && *p != 0 {
			*p += address(1 + m[2]%7)
		}
	case 2:
		*n = sizeT(value)
	case 3:
		*n += sizeT(int8(m[2]))
	case 4: // a word of the memory itself
		if *p != 0 && *p%alignment == 0 && p != pointers[2] {
			write(*p, value)
		}
	}
}

func suprasealForm(c *assignmentC) *suprasealAssignmentC {
	return &suprasealAssignmentC{
		a_aux: c.a_aux, b_inputs: c.b_inputs, b_aux: c.b_aux,
		a: c.a, b: c.b, c: c.c, num_rows: c.num_rows,
		inputs: c.inputs, num_inputs: c.num_inputs, aux: c.aux, num_aux: c.num_aux,
	}
}

// Whatever the fields of an assignment hold: no panic, no read outside of the
// caller's memory, an error of the caller's kind or a proof that verifies, and
// the same answer through both headers.
func FuzzAssignment(f *testing.F) {
	value := func(v uint64) []byte { return binary.LittleEndian.AppendUint64(nil, v) }
	for which := range byte(10) {
		for _, v := range []uint64{0, 1, math.MaxUint64, 1 << 28, 1 << 59, 21, 32} {
			f.Add(append([]byte{2, which, 0}, value(v)...))
		}
		f.Add(append([]byte{0, which, 0}, value(0)...))
		f.Add(append([]byte{1, which, 3}, value(0)...))
		f.Add(append([]byte{3, which, 1}, value(0)...))
		f.Add(append([]byte{4, which, 0}, value(1)...))
	}
	f.Add(append([]byte{2, 0, 0}, value(288)...)) // a newer caller's struct_size
	f.Add([]byte{})
	f.Add(append(append([]byte{3, 4, 1}, value(0)...), append([]byte{3, 5, 1}, value(0)...)...))

	file, err := gv.Read(filepath.Join(goldenDir, "two.gv"))
	require.NoError(f, err)
	h, err := openSRS(filepath.Join(goldenDir, "two.params"), engine.SRSOptions{})
	require.NoError(f, err)
	f.Cleanup(func() { require.NoError(f, releaseSRS(h)) })
	set, err := srsHandles.get(h)
	require.NoError(f, err)
	r, s := addressOf(guarded(f, []fr.Element{file.R}, 1)), addressOf(guarded(f, []fr.Element{file.S}, 1))

	f.Fuzz(func(t *testing.T, script []byte) {
		c := toMutate(t, file)
		for ; len(script) >= mutationBytes; script = script[mutationBytes:] {
			mutate(c, script)
		}
		var proofs []engine.Proof
		// A struct_size beyond the struct is that of a newer caller, who has the memory.
		room := guarded(t, make([]byte, maxStructSize), maxStructSize)
		*(*assignmentC)(unsafe.Pointer(room)) = *c
		first := addressOf(room)
		parts, err := jobPartitions(indexed("assignments"), first, 1, blinding{r, s, "r", "s"})
		if err == nil {
			var j *job
			if j, err = startJob(set, parts, engine.DefaultProveOptions()); err == nil {
				proofs, err = j.Wait(t.Context())
			}
		}
		if err != nil {
			status := statusOf(err)
			require.True(t, status > 100 && status < 200, "status %d for %v", status, err)
		} else {
			require.NoError(t, set.Verify(parts[0].Assignment.Inputs, &proofs[0]))
		}

		if c.struct_size != assignmentBytesABI1 {
			return // supraseal's struct has no size
		}
		provers := addressOf(guarded(t, []suprasealAssignmentC{*suprasealForm(c)}, 1))
		if _, err2 := suprasealPartitions(&suprasealProveArgs{provers: provers, count: 1, r: r, s: s}); err2 != nil {
			require.Equal(t, statusOf(err), statusOf(err2), "%v, but through supraseal %v", err, err2)
		}
	})
}
