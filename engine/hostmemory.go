package engine

import (
	"context"
	"errors"
	"fmt"
	"unsafe"

	"github.com/libcuzk/libcuzk/engine/backend"
	"github.com/libcuzk/libcuzk/internal/hostmem"
)

// hostBlock is memory from AllocHost.
type hostBlock struct {
	memory []byte
	pinner backend.HostPinner // nil if nobody was asked to pin it
}

// AllocHost gives host memory outside the Go heap, page aligned and zero. It is
// pinned if a GPU is used and its driver agrees, and ordinary memory otherwise.
// It lives until FreeHost, also beyond Close, whatever becomes of the GPU.
// Errors: ErrOption, ErrHostMemory, ErrClosed.
func (e *Engine) AllocHost(bytes int) ([]byte, error) {
	if bytes <= 0 {
		return nil, fmt.Errorf("%w: %d bytes of host memory, expected at least 1", ErrOption, bytes)
	}
	if err := e.begin(); err != nil {
		return nil, err
	}
	defer e.ended.Done()
	memory, err := hostmem.Alloc(bytes)
	if err != nil {
		return nil, fmt.Errorf("engine: %d bytes of host memory: %w", bytes, err)
	}
	b := &hostBlock{memory, e.pinHost(memory)}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.host[addressOf(memory)] = b
	return memory, nil
}

// pinHost lets the provider of a GPU pin memory, opening the GPU if need be.
// That it is not pinned is no error: everything works with ordinary memory. The
// provider tries again whenever it opens a GPU, so what it was asked to pin has
// to be taken back from it.
func (e *Engine) pinHost(memory []byte) backend.HostPinner {
	once, stop := context.WithCancel(context.Background())
	stop() // a busy GPU is not waited for
	for _, d := range e.all() {
		pinner, can := d.provider.(backend.HostPinner)
		if !can || !d.usable() {
			continue
		}
		_, done, err := d.use(once)
		if d.outOfUse(err) {
			continue
		}
		if err == nil {
			defer done()
		}
		if err = errors.Join(err, pinner.PinHost(memory)); err != nil {
			e.log.Warn("host memory is not pinned", "bytes", len(memory), "reason", err)
		}
		return pinner
	}
	return nil
}

// FreeHost gives back what AllocHost gave. Nothing may use it any more. Error:
// ErrOption for anything else.
func (e *Engine) FreeHost(memory []byte) error { return e.FreeHostAt(addressOf(memory)) }

func addressOf(memory []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(memory))) }

// FreeHostAt is FreeHost by the address of the first byte: not a pointer, because
// callers from C may pass what is none.
func (e *Engine) FreeHostAt(address uintptr) error {
	e.mu.Lock()
	b := e.host[address]
	delete(e.host, address)
	e.mu.Unlock()
	if b == nil {
		return fmt.Errorf("%w: no host memory begins at %#x, or it was freed before", ErrOption, address)
	}
	if b.pinner != nil {
		if err := b.pinner.UnpinHost(unsafe.SliceData(b.memory)); err != nil {
			e.log.Warn("host memory is freed while the driver keeps it pinned", "reason", err)
		}
	}
	hostmem.Free(b.memory)
	return nil
}
