package registered

import (
	"errors"
	"fmt"
	"sync"
	"unsafe"

	"github.com/libcuzk/libcuzk/cuda/driver"
)

// Memory is the host memory that a provider was asked to pin. Each block is
// registered with one context, which pins it for all contexts of the process.
// A registration ends with its context; the memory, which is not the driver's,
// stays, and is registered with whichever context is next.
type Memory struct {
	mu     sync.Mutex
	blocks map[*byte]*block // guarded by mu; by first byte
	open   []*Registrar     // guarded by mu; contexts, oldest first
}

// block is one piece of host memory.
type block struct {
	memory []byte
	by     *Registrar // nil: not pinned now
}

func NewMemory() *Memory { return &Memory{blocks: map[*byte]*block{}} }

var ErrNoneOpen = errors.New("cuda: no GPU is open")

func (h *Memory) Add(memory []byte) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	b := &block{memory: memory}
	h.blocks[unsafe.SliceData(memory)] = b
	return h.registerLocked(b)
}

func (h *Memory) Remove(first *byte) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	b := h.blocks[first]
	if b == nil {
		return nil
	}
	delete(h.blocks, first)
	return b.unregister()
}

// Enter registers what no other context pins. It accepts a nil h.
func (h *Memory) Enter(p *Registrar) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.open = append(h.open, p)
	h.registerAllLocked()
}

// Leave unregisters what p pins; p may never have been attached. The errors are those of a lost context, whose
// registrations end with it: only after that RegisterRest lets another context pin it.
func (h *Memory) Leave(p *Registrar) error {
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
			failed = errors.Join(failed, b.unregister())
		}
	}
	return failed
}

// RegisterRest registers what no context pins any more; a context has just ended. It accepts
// nil.
func (h *Memory) RegisterRest() {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.registerAllLocked()
}

func (h *Memory) registerAllLocked() {
	for _, b := range h.blocks {
		if b.by == nil {
			// Ordinary memory does as well; the next context tries again.
			_ = h.registerLocked(b)
		}
	}
}

// registerLocked registers b with the first context that can.
func (h *Memory) registerLocked(b *block) error {
	if len(h.open) == 0 {
		return ErrNoneOpen
	}
	var failed error
	for _, p := range h.open {
		err := p.register(b.memory)
		if err == nil {
			b.by = p
			return nil
		}
		failed = errors.Join(failed, fmt.Errorf("cuda: pinning %d bytes of host memory with %s: %w",
			len(b.memory), p.Context.Device().String(), err))
	}
	return failed
}

func (p *Registrar) register(memory []byte) error {
	err := p.memory.Do(p.Context, func(b *driver.Bound) error { return register(b, memory) })
	if err == nil {
		p.bytes.Add(uint64(len(memory)))
	}
	return err
}

// unregister is told of errors only by whom it may concern: b is not pinned by this
// context afterwards, or ends to be with it.
func (b *block) unregister() error {
	p := b.by
	if p == nil {
		return nil
	}
	b.by = nil
	p.bytes.Add(-uint64(len(b.memory)))
	err := p.memory.Do(p.Context, func(bound *driver.Bound) error { return bound.HostUnregister(b.memory) })
	switch {
	case errors.Is(err, driver.ErrClosed):
		return nil // unregistered with its context
	case err != nil:
		return fmt.Errorf("cuda: unpinning %d bytes of host memory with %s: %w", len(b.memory), p.Context.Device().String(), err)
	}
	return nil
}

// MemoryBytes is how much memory of programs p pins.
func (p *Registrar) MemoryBytes() uint64 { return p.bytes.Load() }
