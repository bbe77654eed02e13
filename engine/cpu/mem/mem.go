// Package mem keeps the big buffers of the CPU back end: outside the Go heap,
// so that the collector neither scans nor counts them, and reused, so that a
// job does not pay for the first touch of fresh pages.
package mem

import (
	"fmt"
	"math/bits"
	"sync"
	"unsafe"
)

// Pool hands out buffers, 4096 bytes aligned and of undefined content. Safe
// for concurrent use. The zero value is ready.
type Pool struct {
	mu     sync.Mutex
	free   map[int][][]byte // by rounded size; guarded by mu
	inUse  int              // bytes handed out; guarded by mu
	idle   int              // bytes in free; guarded by mu
	peak   int              // largest inUse + idle; guarded by mu
	closed bool             // guarded by mu
}

// Buffer is n elements of T from a Pool.
type Buffer[T any] struct {
	Data []T
	raw  []byte
	pool *Pool
}

// Get returns a buffer of n elements. T must not hold Go pointers: the
// collector does not look into it.
func Get[T any](p *Pool, n int) (*Buffer[T], error) {
	var t T
	raw, err := p.get(n * int(unsafe.Sizeof(t)))
	if err != nil {
		return nil, err
	}
	b := &Buffer[T]{raw: raw, pool: p}
	if n > 0 {
		// SAFETY: raw stays mapped until Release, after which Data is nil.
		b.Data = unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(raw))), n)
	}
	return b, nil
}

// Release gives the buffer back. Releasing twice, or nil, does nothing.
func (b *Buffer[T]) Release() {
	if b == nil || b.pool == nil {
		return
	}
	b.pool.put(b.raw)
	b.Data, b.raw, b.pool = nil, nil, nil
}

// roundBytes is the size class of n: a multiple of an eighth of its power of
// two, and of a page. At most an eighth of a buffer is wasted, and jobs of
// about the same size share buffers.
func roundBytes(n int) int {
	const page = 4096
	step := page
	if n > 8*page {
		step = 1 << (bits.Len(uint(n-1)) - 4)
	}
	return max(page, (n+step-1)/step*step)
}

func (p *Pool) get(n int) ([]byte, error) {
	n = roundBytes(n)
	p.mu.Lock()
	p.inUse += n
	if list := p.free[n]; len(list) > 0 {
		raw := list[len(list)-1]
		p.free[n] = list[:len(list)-1]
		p.idle -= n
		p.mu.Unlock()
		return raw, nil
	}
	p.peak = max(p.peak, p.inUse+p.idle)
	p.mu.Unlock()

	raw, err := allocate(n)
	if err != nil {
		p.mu.Lock()
		p.inUse -= n
		p.mu.Unlock()
		return nil, fmt.Errorf("mem: buffer of %d bytes: %w", n, err)
	}
	return raw, nil
}

func (p *Pool) put(raw []byte) {
	n := len(raw)
	p.mu.Lock()
	p.inUse -= n
	if p.closed {
		p.mu.Unlock()
		release(raw)
		return
	}
	if p.free == nil {
		p.free = map[int][][]byte{}
	}
	p.free[n] = append(p.free[n], raw)
	p.idle += n
	p.mu.Unlock()
}

// Trim gives idle buffers back to the system.
func (p *Pool) Trim() {
	p.mu.Lock()
	free := p.free
	p.free, p.idle = nil, 0
	p.mu.Unlock()
	for _, list := range free {
		for _, raw := range list {
			release(raw)
		}
	}
}

// Close trims the pool and makes every later Release go to the system.
func (p *Pool) Close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.Trim()
}

// PeakBytes returns the most that the pool held at one time, in use and idle.
func (p *Pool) PeakBytes() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.peak
}

// UsedBytes returns what is handed out now, and what is kept idle.
func (p *Pool) UsedBytes() (inUse, idle int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.inUse, p.idle
}
