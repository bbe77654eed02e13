//go:build !unix

package hostmem

import "unsafe"

// allocate takes the Go heap where there is no mmap.
func allocate(n int) ([]byte, error) {
	const align = 64
	raw := make([]byte, n+align)
	skip := -int(uintptr(unsafe.Pointer(unsafe.SliceData(raw)))) & (align - 1)
	return raw[skip : skip+n : skip+n], nil
}

func release([]byte) {}
