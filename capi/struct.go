package main

/*
#include <stddef.h>
*/
import "C"

import "unsafe"

// sizeT is size_t, for tests, which cannot use cgo.
type sizeT = C.size_t

// Structs of the header that can grow begin with struct_size, the caller's
// sizeof. Rules: smaller than in the first version of the ABI is refused;
// fields that the caller's struct does not have are zero; bytes that this
// library does not know must be zero.

// maxStructSize is far above any struct of the header: a larger struct_size is
// taken for garbage, before that many bytes are read.
const maxStructSize = 4096

// structSize returns the checked struct_size of the T at p. minSize is the size
// that the struct had in ABI 1.0.
func structSize[T any](name string, p address, minSize uintptr) (uintptr, error) {
	if err := checkPointer(name, p); err != nil {
		return 0, err
	}
	// Every such struct begins with a size_t.
	size := *at[uintptr](p)
	known := unsafe.Sizeof(*new(T))
	switch {
	case size < minSize:
		return 0, refuse(errStructSize, "%s.struct_size is %d, expected at least %d", name, size, minSize)
	case size > maxStructSize || size%alignment != 0:
		return 0, refuse(errStructSize, "%s.struct_size is %d, expected a multiple of %d up to %d (this library knows %d)",
			name, size, alignment, maxStructSize, known)
	}
	for i := known; i < size; i++ {
		if *at[byte](p + address(i)) != 0 {
			return 0, refuse(errStructSize, "%s: byte %d is set, but this library knows only the first %d", name, i, known)
		}
	}
	return size, nil
}

// readStruct copies what lies at p into the library's idea of the struct. T has
// no pointers.
func readStruct[T any](name string, p address, minSize uintptr) (T, error) {
	var v T
	size, err := structSize[T](name, p, minSize)
	if err != nil {
		return v, err
	}
	copy(bytesOf(&v), unsafe.Slice(at[byte](p), size))
	return v, nil
}

// writeStruct copies v to p, as much as the caller's struct holds, and leaves
// struct_size as it is. size is what structSize returned.
func writeStruct[T any](p address, size uintptr, v T) {
	const head = unsafe.Sizeof(uintptr(0))
	copy(unsafe.Slice(at[byte](p), size)[head:], bytesOf(&v)[head:])
}

func bytesOf[T any](v *T) []byte { return unsafe.Slice((*byte)(unsafe.Pointer(v)), unsafe.Sizeof(*v)) }
