package hostmem

import (
	"math"
	"sync"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/internal/sentinel"
)

func TestBuffersAreAlignedAndReused(t *testing.T) {
	p := new(Pool)
	defer p.Close()
	a, err := Get[[4]uint64](p, 1000)
	require.NoError(t, err)
	require.Len(t, a.Data, 1000)
	first := &a.Data[0]
	assert.Zero(t, uintptr(unsafe.Pointer(first))%64)
	a.Data[999] = [4]uint64{1, 2, 3, 4}
	a.Release()
	a.Release() // does nothing
	assert.Nil(t, a.Data)

	b, err := Get[byte](p, 31000) // the same size class
	require.NoError(t, err)
	assert.Equal(t, unsafe.Pointer(first), unsafe.Pointer(&b.Data[0]))
	b.Release()
	inUse, idle := p.UsedBytes()
	assert.Zero(t, inUse)
	assert.Equal(t, 32768, idle)
	assert.Equal(t, 32768, p.PeakBytes())
	p.Trim()
	_, idle = p.UsedBytes()
	assert.Zero(t, idle)
}

func TestAnEmptyBuffer(t *testing.T) {
	p := new(Pool)
	defer p.Close()
	b, err := Get[uint64](p, 0)
	require.NoError(t, err)
	assert.Empty(t, b.Data)
	b.Release()
	var none *Buffer[uint64]
	none.Release()
}

func TestSizeClassesWasteLittle(t *testing.T) {
	for _, n := range []int{1, 4096, 4097, 40_000, 1 << 20, 1<<20 + 1, 100_000_001} {
		got := roundBytes(n)
		assert.GreaterOrEqual(t, got, n)
		assert.LessOrEqual(t, got, n+max(4096, n/8), "%d bytes", n)
		assert.Equal(t, got, roundBytes(got), "%d bytes: a class is its own", n)
	}
}

func TestABufferOutlivesTheClosedPool(t *testing.T) {
	p := new(Pool)
	b, err := Get[byte](p, 10)
	require.NoError(t, err)
	p.Close()
	b.Data[9] = 1
	b.Release()
	inUse, idle := p.UsedBytes()
	assert.Zero(t, inUse)
	assert.Zero(t, idle)
}

func TestTooLargeABufferIsAnError(t *testing.T) {
	p := new(Pool)
	defer p.Close()
	kept, err := Get[byte](p, 5000)
	require.NoError(t, err)
	kept.Release()
	_, err = Get[byte](p, 1<<50)
	require.ErrorIs(t, err, sentinel.ErrHostMemory)
	require.ErrorContains(t, err, "buffer of 1125899906842624 bytes")
	_, err = Get[byte](p, math.MaxInt)
	require.ErrorIs(t, err, sentinel.ErrHostMemory, "what cannot be rounded up")
	inUse, idle := p.UsedBytes()
	assert.Zero(t, inUse)
	assert.Zero(t, idle, "idle memory is given back before a buffer is refused")
}

// use takes buffers of the given sizes at one time and gives them back.
func use(t *testing.T, p *Pool, sizes ...int) {
	t.Helper()
	var buffers []*Buffer[byte]
	for _, n := range sizes {
		b, err := Get[byte](p, n)
		require.NoError(t, err)
		buffers = append(buffers, b)
	}
	for _, b := range buffers {
		b.Release()
	}
}

func TestIdleMemoryDoesNotGrowWithTheVarietyOfSizes(t *testing.T) {
	p := new(Pool)
	defer p.Close()
	const largest = 1 << 20
	for i := range 300 {
		use(t, p, largest*(i%60+1)/60, 1<<14)
		inUse, idle := p.UsedBytes()
		assert.Zero(t, inUse)
		assert.LessOrEqual(t, idle, keepFactor*(largest+1<<14))
	}
	assert.LessOrEqual(t, p.PeakBytes(), keepFactor*(largest+1<<14))
}

func TestTheNextJobFindsTheBuffersOfAllStages(t *testing.T) {
	p := new(Pool)
	defer p.Close()
	stages := [][]int{{1 << 20, 3 << 20}, {1 << 19, 5 << 18, 2 << 20}}
	job := func() {
		for _, sizes := range stages {
			use(t, p, sizes...)
		}
	}
	job()
	peak := p.PeakBytes()
	assert.Equal(t, 4<<20+1<<19+5<<18+2<<20, peak, "all sizes are different, so none serves twice")
	use(t, p, 1<<17) // another witness
	for range 3 {
		job()
	}
	inUse, idle := p.UsedBytes()
	assert.Zero(t, inUse)
	assert.Equal(t, peak+1<<17, idle, "nothing was given back")
}

func TestTheBufferThatWasIdleForLongestGoesFirst(t *testing.T) {
	p := new(Pool)
	defer p.Close()
	for _, n := range []int{8 << 12, 7 << 12, 6 << 12} { // at most 8 pages in use, so 24 are kept
		use(t, p, n)
	}
	free := func() (sizes []int) {
		for n, list := range p.free {
			for range list {
				sizes = append(sizes, n>>12)
			}
		}
		return sizes
	}
	assert.ElementsMatch(t, []int{8, 7, 6}, free())
	use(t, p, 8<<12) // now the youngest
	use(t, p, 5<<12)
	assert.ElementsMatch(t, []int{8, 6, 5}, free())
}

func TestBuffersFromManyGoroutinesDoNotOverlap(t *testing.T) {
	p := new(Pool)
	defer p.Close()
	var wait sync.WaitGroup
	for g := range 8 {
		wait.Add(1)
		go func() {
			defer wait.Done()
			for range 200 {
				b, err := Get[int](p, 2000)
				if !assert.NoError(t, err) {
					return
				}
				for i := range b.Data {
					b.Data[i] = g
				}
				for i := range b.Data {
					if b.Data[i] != g {
						assert.Fail(t, "another goroutine wrote into the buffer")
						return
					}
				}
				b.Release()
			}
		}()
	}
	wait.Wait()
	inUse, _ := p.UsedBytes()
	assert.Zero(t, inUse)
}
