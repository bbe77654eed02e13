// Package hostmem has host memory outside the Go heap, which the collector
// neither scans nor counts: blocks, and pools of buffers that are used again, so
// that a partition does not pay for the first touch of fresh pages.
package hostmem

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"sync"
	"unsafe"

	"github.com/libcuzk/libcuzk/internal/sentinel"
)

// keepFactor bounds what a pool holds, in use and idle, to so many times the
// most that was in use at one time. A job that goes through two stages, one
// after the other, with buffers of different sizes, should find all of them
// idle the next time: two stages take at most twice what the larger takes, and
// inside a stage sums of different sizes follow one another (2.0 times in all
// for a PoRep's witness of 2^16 on two cores). Buffers of sizes that only
// another witness had are the ones given back.
const keepFactor = 3

// Pool hands out buffers, 4096 bytes aligned and of undefined content. Safe
// for concurrent use. The zero value is ready.
type Pool struct {
	mu      sync.Mutex
	free    map[int][]idleBuffer // by rounded size, oldest first; guarded by mu
	puts    uint64               // buffers that came back so far; guarded by mu
	inUse   int                  // bytes handed out; guarded by mu
	idle    int                  // bytes in free; guarded by mu
	peakUse int                  // largest inUse since Trim; guarded by mu
	peak    int                  // largest inUse + idle; guarded by mu
	closed  bool                 // guarded by mu
}

// idleBuffer is a buffer and when it came back, in puts of the pool.
type idleBuffer struct {
	raw []byte
	at  uint64
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
	if n > math.MaxInt/2 { // rounded up it may be no int any more
		return nil, fmt.Errorf("hostmem: %w: buffer of %d bytes, which is past all addresses", sentinel.ErrHostMemory, n)
	}
	n = roundBytes(n)
	p.mu.Lock()
	p.inUse += n
	p.peakUse = max(p.peakUse, p.inUse)
	if list := p.free[n]; len(list) > 0 {
		raw := list[len(list)-1].raw
		p.free[n] = list[:len(list)-1]
		p.idle -= n
		p.mu.Unlock()
		return raw, nil
	}
	// Only here does inUse + idle grow.
	var surplus [][]byte
	for p.idle > 0 && p.inUse+p.idle > keepFactor*p.peakUse {
		surplus = append(surplus, p.takeOldestLocked())
	}
	p.peak = max(p.peak, p.inUse+p.idle)
	p.mu.Unlock()
	releaseAll(surplus)

	raw, err := allocate(n, reserved)
	if err != nil {
		// What lies idle may be what is missing.
		releaseAll(p.takeIdle())
		raw, err = allocate(n, reserved)
	}
	if err != nil {
		p.mu.Lock()
		p.inUse -= n
		p.mu.Unlock()
		return nil, fmt.Errorf("hostmem: %w: buffer of %d bytes: %w", sentinel.ErrHostMemory, n, err)
	}
	return raw, nil
}

// takeOldestLocked removes the buffer that has been idle for longest; there is
// one.
func (p *Pool) takeOldestLocked() []byte {
	class, oldest := 0, p.puts
	for n, list := range p.free {
		if len(list) > 0 && list[0].at < oldest {
			class, oldest = n, list[0].at
		}
	}
	raw := p.free[class][0].raw
	p.free[class] = slices.Delete(p.free[class], 0, 1)
	p.idle -= class
	return raw
}

func (p *Pool) put(raw []byte) {
	n := len(raw)
	p.mu.Lock()
	p.inUse -= n
	if p.closed {
		p.mu.Unlock()
		Free(raw)
		return
	}
	if p.free == nil {
		p.free = map[int][]idleBuffer{}
	}
	p.free[n] = append(p.free[n], idleBuffer{raw, p.puts})
	p.puts++
	p.idle += n
	p.mu.Unlock()
}

// takeIdle removes all idle buffers.
func (p *Pool) takeIdle() (taken [][]byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, list := range p.free {
		for _, b := range list {
			taken = append(taken, b.raw)
		}
	}
	p.free, p.idle = nil, 0
	return taken
}

func releaseAll(buffers [][]byte) {
	for _, raw := range buffers {
		Free(raw)
	}
}

// Trim gives idle buffers back to the system and forgets how much was in use.
func (p *Pool) Trim() {
	p.mu.Lock()
	p.peakUse = p.inUse
	p.mu.Unlock()
	releaseAll(p.takeIdle())
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
