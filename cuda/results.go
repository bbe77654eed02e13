package cuda

import (
	"errors"
	"slices"
	"sync"

	"github.com/libcuzk/libcuzk/cuda/driver"
	"github.com/libcuzk/libcuzk/cuda/internal/plan"
)

// resultPool keeps pinned buffers of maxResultBytes, one for each round of a
// job that has not ended. Pinned memory is never given back on a job's path:
// freeing it waits for the whole device.
type resultPool struct {
	mu       sync.Mutex
	all      [][]byte // guarded by mu
	free     [][]byte // guarded by mu
	released bool     // guarded by mu; what comes back is not the pool's any more
}

// preparedResults is how many buffers there are from the start: two rounds of
// each enqueued job, and those of jobs that finish or load a set.
const preparedResults = 4 * plan.MaxEnqueued

// prepare pins the first buffers, so that few jobs have to.
func (p *resultPool) prepare(b *driver.Bound) error {
	for range preparedResults {
		memory, err := b.HostAlloc(plan.MaxResultBytes)
		if err != nil {
			return err
		}
		p.all = append(p.all, memory)
		p.free = append(p.free, memory)
	}
	return nil
}

// take gives an idle buffer, or a new one.
func (p *resultPool) take(b *driver.Bound) ([]byte, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.free); n > 0 {
		m := p.free[n-1]
		p.free = p.free[:n-1]
		return m, nil
	}
	memory, err := b.HostAlloc(plan.MaxResultBytes)
	if err == nil {
		p.all = append(p.all, memory)
	}
	return memory, err
}

// put gives buffers back; no copy into them runs any more. A card that is being
// reset, which waits only for jobs to end, may have unpinned them already.
func (p *resultPool) put(buffers ...[]byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.released {
		p.free = append(p.free, buffers...)
	}
}

// release unpins everything. What the driver refuses to take back stays for
// another call.
func (p *resultPool) release(b *driver.Bound) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var failed error
	p.free, p.released = nil, true
	p.all = slices.DeleteFunc(p.all, func(m []byte) bool {
		err := b.HostFreeDeviceWide(m)
		failed = errors.Join(failed, err)
		return err == nil
	})
	return failed
}
