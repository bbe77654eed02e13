package engine

import (
	"sync"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/engine/backend"
)

// pinning is a scripted back end that pins host memory.
type pinning struct {
	*scripted
	err    error
	mu     sync.Mutex
	pinned map[*byte]int // sizes; guarded by mu
}

func newPinning() *pinning {
	return &pinning{scripted: newScripted(backend.CUDA, 1), pinned: map[*byte]int{}}
}

func (p *pinning) PinHost(memory []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pinned[unsafe.SliceData(memory)] = len(memory)
	return p.err
}

func (p *pinning) UnpinHost(first *byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.pinned, first)
	return p.err
}

func TestHostMemory(t *testing.T) {
	const bytes = 12345
	gpu, refusing, cardless := newPinning(), newPinning(), newPinning()
	refusing.err = errScripted
	cardless.openErr = errScripted
	for name, test := range map[string]struct {
		providers []backend.Provider
		asked     *pinning
	}{
		"pinned by the first provider that can": {[]backend.Provider{gpu, newScripted(backend.CPU, 1)}, gpu},
		"ordinary where the driver refuses":     {[]backend.Provider{refusing}, refusing},
		"ordinary where no GPU opens":           {[]backend.Provider{cardless, newScripted(backend.CPU, 1)}, cardless},
		"ordinary where there is no GPU":        {[]backend.Provider{newScripted(backend.CPU, 1)}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			e, err := New(Config{Providers: test.providers})
			require.NoError(t, err)
			memory, err := e.AllocHost(bytes)
			require.NoError(t, err)
			assert.Equal(t, make([]byte, bytes), memory)
			first := unsafe.SliceData(memory)
			assert.Zero(t, uintptr(unsafe.Pointer(first))%4096)
			if test.asked != nil {
				assert.Equal(t, map[*byte]int{first: bytes}, test.asked.pinned)
			}
			require.NoError(t, e.Close())
			memory[bytes-1] = 1 // it outlives the engine
			require.NoError(t, e.FreeHost(memory))
			if test.asked != nil {
				assert.Empty(t, test.asked.pinned)
			}
			assert.ErrorIs(t, e.FreeHost(memory), ErrOption, "a second time")
			_, err = e.AllocHost(bytes)
			assert.ErrorIs(t, err, ErrClosed)
		})
	}
	t.Run("what cannot be had", func(t *testing.T) {
		e, err := New(Config{Providers: []backend.Provider{newPinning()}})
		require.NoError(t, err)
		defer func() { require.NoError(t, e.Close()) }()
		for _, bytes := range []int{0, -1} {
			_, err := e.AllocHost(bytes)
			assert.ErrorIs(t, err, ErrOption)
		}
		_, err = e.AllocHost(1 << 60)
		assert.ErrorContains(t, err, "1152921504606846976 bytes of host memory")
		assert.ErrorIs(t, e.FreeHost(nil), ErrOption)
	})
}
