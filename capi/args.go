package main

import (
	"math"
	"unsafe"
)

// alignment is what pointers to values must have, and all they need to have.
const alignment = 8

// maxBytes bounds the size of an array, so that address arithmetic stays far
// from overflow.
const maxBytes = math.MaxInt64 / 2

// array returns the n elements at p, in place. name is the argument's in the
// header. p may be null if n is 0.
//
// SAFETY: the caller of the C function keeps the memory alive and unchanged
// for as long as the header says; it is not Go memory, so the collector
// neither moves nor frees it.
func array[T any](name string, p *T, n uint64) ([]T, error) {
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
	if start := uint64(uintptr(unsafe.Pointer(p))); start+n*size < start {
		return nil, refuse(errSize, "%s: %d elements of %d bytes at %p pass the end of the address space", name, n, size, p)
	}
	return unsafe.Slice(p, n), nil
}

// view is array with the elements read as U, which has the layout of T.
func view[U, T any](name string, p *T, n uint64) ([]U, error) {
	return array(name, (*U)(unsafe.Pointer(p)), n)
}

// checkPointer refuses a null or misaligned p. T must be a type that starts
// with 8-byte words.
func checkPointer[T any](name string, p *T) error {
	if p == nil {
		return refuse(errNull, "%s is NULL", name)
	}
	if rest := uintptr(unsafe.Pointer(p)) % alignment; rest != 0 {
		return refuse(errAlignment, "%s is %p, %d bytes past a multiple of %d", name, p, rest, alignment)
	}
	return nil
}

// checkAligned is checkPointer for a pointer to words smaller than 8 bytes.
func checkAligned[T any](name string, p *T) error {
	if p == nil {
		return refuse(errNull, "%s is NULL", name)
	}
	if need := unsafe.Alignof(*p); uintptr(unsafe.Pointer(p))%need != 0 {
		return refuse(errAlignment, "%s is %p, which is not a multiple of %d", name, p, need)
	}
	return nil
}
