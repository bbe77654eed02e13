package setup

import "golang.org/x/sys/unix"

// allocate gives zeroed memory outside the Go heap, page aligned.
func allocate(bytes int) ([]byte, error) {
	if bytes == 0 {
		return nil, nil
	}
	memory, err := unix.Mmap(-1, 0, bytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return nil, err
	}
	// Fewer page faults where the system offers large pages; where it does
	// not, the call fails and nothing is lost.
	_ = unix.Madvise(memory, unix.MADV_HUGEPAGE)
	return memory, nil
}

func free(memory []byte) error {
	if memory == nil {
		return nil
	}
	return unix.Munmap(memory)
}
