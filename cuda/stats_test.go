package cuda

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/cuda/internal/devcontext"
	"github.com/libcuzk/libcuzk/cuda/internal/staging"
	"github.com/libcuzk/libcuzk/internal/circuits/synth"
	"github.com/libcuzk/libcuzk/tests/cudasim"
)

func TestStats(t *testing.T) {
	p := makeProven(t, synth.PoRepLike(500, 9), 1)
	d, _ := open(t, Options{BudgetBytes: 2 << 30, HostBytes: MinHostBytes}, cudasim.Config{})
	before := d.Stats()
	assert.EqualValues(t, 2<<30, before.BudgetBytes)
	assert.EqualValues(t, fixedHere(t), before.FixedBytes)
	assert.Zero(t, before.UploadedBytes)
	assert.InDelta(t, MinHostBytes, before.PinnedBytes, 1<<20, "the rings, and buffers for results")

	got, err := sums(t.Context(), d, p)
	require.NoError(t, err)
	p.check(t, got)
	after := d.Stats()
	a := p.circuit.Assignment()
	assert.GreaterOrEqual(t, after.UploadedBytes, uint64((len(a.A)+len(a.B))*staging.ScalarBytes+int(p.params.PointBytes())))
	assert.NotZero(t, after.SetBytes)
	assert.NotZero(t, after.MappedBytes)
	assert.Zero(t, after.JobBytes)
	assert.Zero(t, after.Retries)
	assert.Zero(t, after.Resets)
}

func TestBudgetAsAShare(t *testing.T) {
	d, _ := open(t, Options{BudgetShare: 0.25}, cudasim.Config{VRAMBytes: 8 << 30})
	assert.EqualValues(t, 2<<30, d.Stats().BudgetBytes)
}

func TestFillers(t *testing.T) {
	for _, host := range []uint64{0, 1, MinHostBytes, MinHostBytes + staging.SlotBytes, 1 << 40} {
		threads, slots := Options{HostBytes: host}.fillers()
		assert.GreaterOrEqual(t, threads, 1, "%d bytes", host)
		assert.Greater(t, slots, threads, "%d bytes", host)
		if host != 0 {
			assert.LessOrEqual(t, uint64(slots+devcontext.LoadSlots+devcontext.TileSlots)*staging.SlotBytes, max(host, MinHostBytes), "%d bytes", host)
		}
	}
}
