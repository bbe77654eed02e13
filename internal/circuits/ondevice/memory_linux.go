package ondevice

import "golang.org/x/sys/unix"

// allocate gives zeroed memory outside the Go heap, page aligned.
func allocate(bytes int) ([]byte, error) {
	if bytes == 0 {
		return nil, nil
	}
	// Not reserved: the kernel refuses a mapping larger than the memory there
	// is now, and a virtual machine's may grow while it is used.
	const flags = unix.MAP_ANON | unix.MAP_PRIVATE | unix.MAP_NORESERVE
	memory, err := unix.Mmap(-1, 0, bytes, unix.PROT_READ|unix.PROT_WRITE, flags)
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
