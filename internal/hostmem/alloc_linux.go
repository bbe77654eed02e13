package hostmem

import "golang.org/x/sys/unix"

const unreserved = reserved | unix.MAP_NORESERVE

// hugeBytes is the size from which huge pages are asked for: fewer page faults
// and fewer misses of the translation cache.
const hugeBytes = 4 << 20

func adviseHuge(memory []byte) {
	if len(memory) >= hugeBytes {
		// Only advice: a kernel without huge pages refuses it.
		_ = unix.Madvise(memory, unix.MADV_HUGEPAGE)
	}
}
