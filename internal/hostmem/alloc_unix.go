//go:build unix

package hostmem

import "golang.org/x/sys/unix"

const reserved = unix.MAP_PRIVATE | unix.MAP_ANON

func allocate(bytes, flags int) ([]byte, error) {
	memory, err := unix.Mmap(-1, 0, bytes, unix.PROT_READ|unix.PROT_WRITE, flags)
	if err == nil {
		adviseHuge(memory)
	}
	return memory, err
}

// release cannot fail: a system that has no room left to cut a mapping in two
// refuses to unmap its middle. Then the pages go back and only the addresses
// stay taken.
func release(memory []byte) {
	if unix.Munmap(memory) != nil {
		_ = unix.Madvise(memory, unix.MADV_DONTNEED)
	}
}
