//go:build !unix

package hostmem

import "unsafe"

const reserved, unreserved = 0, 0

// allocate takes the Go heap where there is no mmap.
func allocate(bytes, _ int) ([]byte, error) {
	const page = 4096
	raw := make([]byte, bytes+page)
	skip := -int(uintptr(unsafe.Pointer(unsafe.SliceData(raw)))) & (page - 1)
	return raw[skip : skip+bytes : skip+bytes], nil
}

func release([]byte) {}
