//go:build unix

package hostmem

import "golang.org/x/sys/unix"

// release cannot fail: a system that has no room left to cut a mapping in two
// refuses to unmap its middle. Then the pages go back and only the addresses
// stay taken.
func release(raw []byte) {
	if unix.Munmap(raw) != nil {
		_ = unix.Madvise(raw, unix.MADV_DONTNEED)
	}
}
