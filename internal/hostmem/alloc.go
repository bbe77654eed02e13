package hostmem

import (
	"fmt"

	"github.com/libcuzk/libcuzk/internal/sentinel"
)

// Alloc gives zeroed memory outside the Go heap, page aligned: the collector
// neither sees nor counts it. It lives until Free. Zero bytes are nil. Error:
// sentinel.ErrHostMemory.
func Alloc(bytes int) ([]byte, error) { return checked(bytes, reserved) }

// AllocLater is Alloc of memory that the system need not have yet: Linux
// refuses a mapping larger than the memory there is now, and a virtual
// machine's may grow while it is used. If it does not, the process is killed.
func AllocLater(bytes int) ([]byte, error) { return checked(bytes, unreserved) }

func checked(bytes, flags int) ([]byte, error) {
	if bytes == 0 {
		return nil, nil
	}
	memory, err := allocate(bytes, flags)
	if err != nil {
		return nil, fmt.Errorf("hostmem: %w: %d bytes: %w", sentinel.ErrHostMemory, bytes, err)
	}
	return memory, nil
}

// Free gives back what Alloc gave, which nothing uses any more. Nil is nothing.
func Free(memory []byte) {
	if len(memory) > 0 {
		release(memory)
	}
}
