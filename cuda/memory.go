package cuda

import (
	"errors"
	"fmt"
	"sync"
	"unsafe"

	"github.com/libcuzk/libcuzk/cuda/driver"
)

// hostPins is the host memory that a provider was asked to pin. Each block is
// registered with one context, which pins it for all contexts of the process.
// A registration ends with its context; the memory, which is not the driver's,
// stays, and is registered with whichever context is next.
type hostPins struct {
	mu     sync.Mutex
	blocks map[*byte]*pinnedBlock // guarded by mu; by first byte
	open   []*registrar           // guarded by mu; contexts, oldest first
}

// pinnedBlock is one piece of host memory.
type pinnedBlock struct {
	memory []byte
	by     *registrar // nil: not pinned now
}

func newHostPins() *hostPins { return &hostPins{blocks: map[*byte]*pinnedBlock{}} }

var errNoneOpen = errors.New("cuda: no GPU is open")

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

// attach pins what no other context pins. It accepts a nil h.
func (h *hostPins) attach(p *registrar) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.open = append(h.open, p)
	h.pinAllLocked()
}

// detach unpins what p pins; p may never have been attached. The errors are those of a lost context, whose
// registrations end with it: only after that repin lets another context pin it.
func (h *hostPins) detach(p *registrar) error {
	if h == nil {
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
	return failed
}

// repin pins what no context pins any more; a context has just ended. It accepts
// nil.
func (h *hostPins) repin() {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.pinAllLocked()
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
	if len(h.open) == 0 {
		return errNoneOpen
	}
	var failed error
	for _, p := range h.open {
		err := p.pin(b.memory)
		if err == nil {
			b.by = p
			return nil
		}
		failed = errors.Join(failed, fmt.Errorf("cuda: pinning %d bytes of host memory with %s: %w",
			len(b.memory), p.context.Device().String(), err))
	}
	return failed
}

func (p *registrar) pin(memory []byte) error {
	err := p.memory.Do(p.context, func(b *driver.Bound) error { return register(b, memory) })
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
	err := p.memory.Do(p.context, func(bound *driver.Bound) error { return bound.HostUnregister(b.memory) })
	switch {
	case errors.Is(err, driver.ErrClosed):
		return nil // unregistered with its context
	case err != nil:
		return fmt.Errorf("cuda: unpinning %d bytes of host memory with %s: %w", len(b.memory), p.context.Device().String(), err)
	}
	return nil
}

// pinned is how much memory of programs p pins.
func (p *registrar) pinned() uint64 { return p.bytes.Load() }
