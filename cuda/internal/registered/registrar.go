package registered

import (
	"sync/atomic"

	"github.com/libcuzk/libcuzk/cuda/driver"
)

// Registrar registers host memory with one context, for all contexts of the
// process. What it has registered is unregistered before the context ends.
type Registrar struct {
	Context     *driver.Context
	memory      driver.LateThread // registers what programs ask for, 36 ms a GiB, and unregisters it
	Points      driver.LateThread // registers points of sets, for seconds
	unregisters driver.LateThread // unregisters them meanwhile
	bytes       atomic.Uint64     // of the memory that programs asked for
	ending      bool              // guarded by pinnedPoints.mu; see pinnedBy
	Hangs       atomic.Bool       // work on the device does not end: nothing is given back any more
}

// register also takes memory that a context has registered which is gone: it
// should have unregistered the memory when it ended.
func register(b *driver.Bound, memory []byte) error {
	err := b.HostRegister(memory)
	if driver.Is(err, driver.ErrorHostMemoryAlreadyRegistered) {
		if err = b.HostUnregister(memory); err == nil {
			err = b.HostRegister(memory)
		}
	}
	return err
}
