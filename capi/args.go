package main

/*
#include "internal.h"
*/
import "C"

import (
	"math"
	"unsafe"
)

// address is where something of the host lies, as the host gave it: an integer,
// at which the collector does not look. Only the functions of this file make
// pointers of it, once it is to be read or written.
type address = C.cuzkc_address

// alignment is what pointers to values must have, and all they need to have.
const alignment = 8

// maxBytes bounds the size of an array, so that address arithmetic stays far
// from overflow.
const maxBytes = math.MaxInt64 / 2

// at is the T at p, which must have been checked.
//
// SAFETY: the caller of the C function keeps the memory alive and unchanged
// for as long as the header says; it is not Go memory, so the collector
// neither moves nor frees it.
//
// It is not inlined: go 1.26.8 then fails at copies of a fixed size ("internal
// compiler error: disjointTypes: one of arguments is not a pointer").
//
//go:noinline
func at[T any](p address) *T { return (*T)(unsafe.Add(nil, uintptr(p))) }

// arguments are those of a call, which the C side keeps on its stack.
func arguments[T any](packed C.uintptr_t) T { return *at[T](address(packed)) }

// array returns the n elements at p, in place. name is the argument's in the
// header. p may have any value if n is 0.
func array[T any](name string, p address, n uint64) ([]T, error) {
	if n == 0 {
		return nil, nil
	}
	size := uint64(unsafe.Sizeof(*new(T)))
	if n > maxBytes/size {
		return nil, refuse(errSize, "%s: %d elements of %d bytes do not fit in the address space", name, n, size)
	}
	if err := checkPointer(name, p); err != nil {
		return nil, err
	}
	if start := uint64(p); start+n*size < start {
		return nil, refuse(errSize, "%s: %d elements of %d bytes at %#x pass the end of the address space", name, n, size, start)
	}
	return unsafe.Slice(at[T](p), n), nil
}

// checkPointer refuses a p that is null, or misaligned for a type that starts
// with 8-byte words.
func checkPointer(name string, p address) error { return checkAligned(name, p, alignment) }

// checkAligned refuses a p that is null or no multiple of need.
func checkAligned(name string, p address, need uint64) error {
	if p == 0 {
		return refuse(errNull, "%s is NULL", name)
	}
	if rest := uint64(p) % need; rest != 0 {
		return refuse(errAlignment, "%s is %#x, %d bytes past a multiple of %d", name, uint64(p), rest, need)
	}
	return nil
}

// stringAt copies the text at p, which ends with a NUL.
func stringAt(name string, p address) (string, error) {
	if p == 0 {
		return "", refuse(errNull, "%s is NULL", name)
	}
	return C.GoString(at[C.char](p)), nil
}

// write stores v at p. It has no pointers: what lies at p before is the host's,
// and no value for the collector to look at.
func write[T uint32 | uint64](p address, v T) { *at[T](p) = v }
