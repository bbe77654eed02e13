package cuda

import (
	"errors"
	"fmt"
	"strings"
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
	thread  lateThread    // that takes 36 ms a GiB
	bytes   atomic.Uint64 // pinned
}

func newHostPins() *hostPins { return &hostPins{blocks: map[*byte]*pinnedBlock{}} }

// alreadyRegistered is CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED.
const alreadyRegistered driver.Result = 712

var errNoneOpen = errors.New("cuda: no GPU is open")

var _ backend.HostPinner = (*Provider)(nil)

// PinHost implements backend.HostPinner.
func (p *Provider) PinHost(memory []byte) error {
	err := p.options.pins.add(memory)
	if errors.Is(err, errNoneOpen) {
		return fmt.Errorf("%w to pin %d bytes of host memory: %s", err, len(memory), p.cards())
	}
	return err
}

// cards names all cards, for an error.
func (p *Provider) cards() string {
	d, err := driver.Open()
	if err != nil {
		return err.Error()
	}
	devices, err := d.Devices()
	if err != nil {
		return err.Error()
	}
	names := make([]string, len(devices))
	for i, dev := range devices {
		names[i] = named(dev)
	}
	return strings.Join(names, ", ")
}

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

// detach unpins what p pins. The errors are those of a lost context, whose
// registrations end with it: only after that repin lets another context pin it.
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
			len(b.memory), named(p.context.Device()), err))
	}
	return failed
}

func (p *pinning) pin(memory []byte) (err error) {
	err = p.thread.do(p.context, func(b *driver.Bound) error {
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
	err := p.thread.do(p.context, func(bound *driver.Bound) error { return bound.HostUnregister(b.memory) })
	switch {
	case errors.Is(err, driver.ErrClosed):
		return nil // unregistered with its context
	case err != nil:
		return fmt.Errorf("cuda: unpinning %d bytes of host memory with %s: %w", len(b.memory), named(p.context.Device()), err)
	}
	return nil
}

// pinned is how much p pins.
func (p *pinning) pinned() uint64 {
	if p == nil {
		return 0
	}
	return p.bytes.Load()
}
