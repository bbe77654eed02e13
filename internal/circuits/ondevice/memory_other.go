//go:build unix && !linux

package ondevice

import "golang.org/x/sys/unix"

// allocate gives zeroed memory outside the Go heap, page aligned.
func allocate(bytes int) ([]byte, error) {
	if bytes == 0 {
		return nil, nil
	}
	return unix.Mmap(-1, 0, bytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
}

func free(memory []byte) error {
	if memory == nil {
		return nil
	}
	return unix.Munmap(memory)
}
