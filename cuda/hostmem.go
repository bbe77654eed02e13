package cuda

import (
	"errors"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/libcuzk/libcuzk/cuda/driver"
	"github.com/libcuzk/libcuzk/engine/backend"
)

// hostPins is the host memory that a provider was asked to pin. Each block is
// registered with one context, which pins it for all contexts of the process.
// A registration ends with its context; the memory, which is not the driver's,
// stays, and is registered with whichever context is next.
type hostPins struct {
	mu     sync.Mutex
	blocks map[*byte]*pinnedBlock // guarded by mu; by first byte
	open   []*pinning             // guarded by mu; contexts, oldest first
}

// pinnedBlock is one piece of host memory.
type pinnedBlock struct {
	memory []byte
	by     *pinning // nil: not pinned now
}

// pinning is a context that pins.
type pinning struct {
	context *driver.Context
	thread  *driver.Thread // nil until something is pinned: it takes 36 ms a GiB, for which no other thread has time
	bytes   atomic.Uint64  // pinned
}

func newHostPins() *hostPins { return &hostPins{blocks: map[*byte]*pinnedBlock{}} }

// alreadyRegistered is CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED.
const alreadyRegistered driver.Result = 712

var errNoneOpen = errors.New("cuda: no GPU is open")

var _ backend.HostPinner = (*Provider)(nil)

// PinHost implements backend.HostPinner.
func (p *Provider) PinHost(memory []byte) error { return p.options.pins.add(memory) }

// UnpinHost implements backend.HostPinner.
func (p *Provider) UnpinHost(first *byte) error { return p.options.pins.remove(first) }

func (h *hostPins) add(memory []byte) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	b := &pinnedBlock{memory: memory}
	h.blocks[unsafe.SliceData(memory)] = b
	return h.pinLocked(b)
}

func (h *hostPins) remove(first *byte) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	b := h.blocks[first]
	if b == nil {
		return nil
	}
	delete(h.blocks, first)
	return b.unpin()
}

// attach pins what no other context pins. It returns nil for a nil h.
func (h *hostPins) attach(c *driver.Context) *pinning {
	if h == nil {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	p := &pinning{context: c}
	h.open = append(h.open, p)
	h.pinAllLocked()
	return p
}

// detach unpins what p pins, and lets another context pin it. The errors are
// those of a lost context, whose registrations end with it.
func (h *hostPins) detach(p *pinning) error {
	if h == nil || p == nil {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for i, o := range h.open {
		if o == p {
			h.open = append(h.open[:i:i], h.open[i+1:]...)
			break
		}
	}
	var failed error
	for _, b := range h.blocks {
		if b.by == p {
			failed = errors.Join(failed, b.unpin())
		}
	}
	h.pinAllLocked()
	return failed
}

func (h *hostPins) pinAllLocked() {
	for _, b := range h.blocks {
		if b.by == nil {
			// Ordinary memory does as well; the next context tries again.
			_ = h.pinLocked(b)
		}
	}
}

// pinLocked pins b with the first context that can.
func (h *hostPins) pinLocked(b *pinnedBlock) error {
	failed := errNoneOpen
	for _, p := range h.open {
		if failed = p.pin(b.memory); failed == nil {
			b.by = p
			return nil
		}
	}
	return failed
}

func (p *pinning) pin(memory []byte) (err error) {
	if p.thread == nil {
		if p.thread, err = p.context.NewThread(); err != nil {
			return err
		}
	}
	err = p.thread.Do(func(b *driver.Bound) error {
		err := b.HostRegister(memory)
		if driver.Is(err, alreadyRegistered) {
			// With a context that is gone, whose end should have ended that.
			if err = b.HostUnregister(memory); err == nil {
				err = b.HostRegister(memory)
			}
		}
		return err
	})
	if err == nil {
		p.bytes.Add(uint64(len(memory)))
	}
	return err
}

// unpin is told of errors only by whom it may concern: b is not pinned by this
// context afterwards, or ends to be with it.
func (b *pinnedBlock) unpin() error {
	p := b.by
	if p == nil {
		return nil
	}
	b.by = nil
	p.bytes.Add(-uint64(len(b.memory)))
	err := p.thread.Do(func(bound *driver.Bound) error { return bound.HostUnregister(b.memory) })
	if errors.Is(err, driver.ErrClosed) {
		return nil // unregistered with its context
	}
	return err
}

// pinned is how much p pins.
func (p *pinning) pinned() uint64 {
	if p == nil {
		return 0
	}
	return p.bytes.Load()
}
