package devcontext

import (
	"errors"
	"slices"
	"sync"

	"github.com/libcuzk/libcuzk/cuda/driver"
	"github.com/libcuzk/libcuzk/cuda/internal/plan"
)

// Results keeps pinned buffers of plan.MaxResultBytes, one for each round of a
// job that has not ended. Pinned memory is never given back on a job's path:
// freeing it waits for the whole device.
type Results struct {
	mu       sync.Mutex
	All      [][]byte // guarded by mu
	Free     [][]byte // guarded by mu
	released bool     // guarded by mu; what comes back is not the pool's any more
}

// preparedResults is how many buffers there are from the start: two rounds of
// each enqueued job, and those of jobs that finish or load a set.
const preparedResults = 4 * plan.MaxEnqueued

// prepare pins the first buffers, so that few jobs have to.
func (p *Results) prepare(b *driver.Bound) error {
	for range preparedResults {
		memory, err := b.HostAlloc(plan.MaxResultBytes)
		if err != nil {
			return err
		}
		p.All = append(p.All, memory)
		p.Free = append(p.Free, memory)
	}
	return nil
}

// Take gives an idle buffer, or a new one.
func (p *Results) Take(b *driver.Bound) ([]byte, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.Free); n > 0 {
		m := p.Free[n-1]
		p.Free = p.Free[:n-1]
		return m, nil
	}
	memory, err := b.HostAlloc(plan.MaxResultBytes)
	if err == nil {
		p.All = append(p.All, memory)
	}
	return memory, err
}

// Put gives buffers back; no copy into them runs any more. A device that is being
// reset, which waits only for jobs to end, may have unpinned them already.
func (p *Results) Put(buffers ...[]byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.released {
		p.Free = append(p.Free, buffers...)
	}
}

// Release unpins everything. What the driver refuses to take back stays for
// another call.
func (p *Results) Release(b *driver.Bound) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var failed error
	p.Free, p.released = nil, true
	p.All = slices.DeleteFunc(p.All, func(m []byte) bool {
		err := b.HostFreeDeviceWide(m)
		failed = errors.Join(failed, err)
		return err == nil
	})
	return failed
}
