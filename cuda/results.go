package cuda

import (
	"errors"
	"sync"

	"github.com/libcuzk/libcuzk/cuda/driver"
)

// resultPool keeps pinned buffers of maxResultBytes, one for each round of a
// job that has not ended. Pinned memory is never given back on a job's path:
// freeing it waits for the whole device.
type resultPool struct {
	mu   sync.Mutex
	all  [][]byte // guarded by mu
	free [][]byte // guarded by mu
}

// take gives an idle buffer, or a new one.
func (p *resultPool) take(t *driver.Thread) ([]byte, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.free); n > 0 {
		m := p.free[n-1]
		p.free = p.free[:n-1]
		return m, nil
	}
	var memory []byte
	err := t.Do(func(b *driver.Bound) (err error) {
		memory, err = b.HostAlloc(maxResultBytes)
		return err
	})
	if err == nil {
		p.all = append(p.all, memory)
	}
	return memory, err
}

// put gives buffers back; no copy into them runs any more.
func (p *resultPool) put(buffers ...[]byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free = append(p.free, buffers...)
}

// release unpins everything.
func (p *resultPool) release(b *driver.Bound) error {
	var failed error
	for _, m := range p.all {
		failed = errors.Join(failed, b.HostFreeDeviceWide(m))
	}
	p.all, p.free = nil, nil
	return failed
}
