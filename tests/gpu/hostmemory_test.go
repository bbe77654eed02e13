package gpu

import (
	"testing"
	"unsafe"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/cuda"
	"github.com/libcuzk/libcuzk/engine"
	"github.com/libcuzk/libcuzk/engine/synth"
)

// rowsIn copies rows to the beginning of memory.
func rowsIn(memory []byte, rows []fr.Element) []fr.Element {
	// SAFETY: it is page aligned, no Go memory, and long enough for its caller.
	there := unsafe.Slice((*fr.Element)(unsafe.Pointer(unsafe.SliceData(memory))), len(rows))
	copy(there, rows)
	return there
}

func (r *rig) pinnedBytes() uint64 { return r.Metrics().Devices[0].PinnedBytes }

// Host memory of the engine is pinned while a card is open, holds the rows of a
// job, and outlives a lost card.
func TestPinnedHostMemory(t *testing.T) {
	r := open(t, cuda.Options{})
	c := r.circuitOfCPU(synth.PoRepLike(pick(1<<16, 40), 3), 1)
	defer c.free()
	before := r.pinnedBytes()
	rows := c.partition(0).Assignment.A
	bytes := len(rows) * fr.Bytes
	memory, err := r.AllocHost(bytes)
	require.NoError(t, err)
	small, err := r.AllocHost(1)
	require.NoError(t, err)
	assert.EqualValues(t, before+uint64(bytes)+1, r.pinnedBytes())
	require.NoError(t, r.FreeHost(unsafe.SliceData(small)))

	prove := func() {
		p := c.partition(1)
		a := *p.Assignment
		a.A = rowsIn(memory, a.A)
		p.Assignment = &a
		assert.Equal(t, c.ExpectedProof(p.R, p.S), r.prove(c.srs, p, engine.AnyDevice))
		assert.EqualValues(t, before+uint64(bytes), r.pinnedBytes())
	}
	prove()
	require.Error(t, r.strike(faults[0]))
	prove()
	assert.EqualValues(t, 1, r.Metrics().Devices[0].Resets)
	require.NoError(t, r.FreeHost(unsafe.SliceData(memory)))
	assert.Equal(t, before, r.pinnedBytes())
}
