package gpu

import (
	"testing"
	"unsafe"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/cuda"
	"github.com/libcuzk/libcuzk/engine"
	"github.com/libcuzk/libcuzk/internal/circuits/synth"
	"github.com/libcuzk/libcuzk/tests/cudasim"
)

// rowsIn copies rows to the beginning of memory.
func rowsIn(memory []byte, rows []fr.Element) []fr.Element {
	// SAFETY: it is page aligned, no Go memory, and long enough for its caller.
	there := unsafe.Slice((*fr.Element)(unsafe.Pointer(unsafe.SliceData(memory))), len(rows))
	copy(there, rows)
	return there
}

func (r *rig) pinnedBytes() uint64 { return r.Metrics().Devices[0].PinnedBytes }

// Host memory of the engine is pinned while a card is open, and holds the rows
// of a job.
func TestPinnedHostMemory(t *testing.T) {
	r := open(t, cuda.Options{})
	c := r.circuitOfCPU(synth.PoRepLike(pick(1<<16, 40), 3), 1)
	defer c.free()
	before := r.pinnedBytes()
	memory := r.memoryForRows(c)
	bytes := len(memory)
	small, err := r.AllocHost(1)
	require.NoError(t, err)
	assert.EqualValues(t, before+uint64(bytes)+1, r.pinnedBytes())
	require.NoError(t, r.FreeHost(small))
	r.proveWithRowsIn(c, memory)
	assert.EqualValues(t, before+uint64(bytes), r.pinnedBytes())
	require.NoError(t, r.FreeHost(memory))
	assert.Equal(t, before, r.pinnedBytes())
}

// memoryForRows is host memory of the engine, as much as the rows of one form take.
func (r *rig) memoryForRows(c *circuit) []byte {
	r.t.Helper()
	memory, err := r.AllocHost(len(c.partition(0).Assignment.A) * fr.Bytes)
	require.NoError(r.t, err)
	return memory
}

// proveWithRowsIn proves with the rows A in host memory of the engine.
func (r *rig) proveWithRowsIn(c *circuit, memory []byte) {
	r.t.Helper()
	p := c.partition(1)
	a := *p.Assignment
	a.A = rowsIn(memory, a.A)
	p.Assignment = &a
	assert.Equal(r.t, c.ExpectedProof(p.R, p.S), r.prove(c.srs, p, engine.AnyDevice))
}

// Host memory of the engine outlives a lost card. It is pinned again with the
// next context; if there is none it is ordinary memory.
func TestPinnedHostMemoryOfALostCard(t *testing.T) {
	losing(t, faults[:1], func(t *testing.T, f fault, config cudasim.Config) {
		r := openFalling(t, cuda.Options{}, config, engine.FallbackCPU)
		c := r.circuitOfCPU(synth.PoRepLike(pick(1<<16, 40), 3), 1)
		defer c.free()
		before := r.pinnedBytes()
		memory := r.memoryForRows(c)
		r.proveWithRowsIn(c, memory)
		require.Error(t, r.strike(f))
		r.proveWithRowsIn(c, memory)
		assert.EqualValues(t, 1, r.Metrics().Devices[0].Resets)
		gone := r.outcome(f)
		if r.sim != nil {
			require.Equal(t, lasts(f, config), gone)
		}
		if gone {
			before = 0
		}
		later := r.memoryForRows(c)
		r.proveWithRowsIn(c, later)
		if gone {
			assert.Zero(t, r.pinnedBytes())
		} else {
			assert.EqualValues(t, before+2*uint64(len(memory)), r.pinnedBytes())
		}
		for _, m := range [][]byte{memory, later} {
			require.NoError(t, r.FreeHost(m))
		}
		assert.Equal(t, before, r.pinnedBytes())
	})
}
