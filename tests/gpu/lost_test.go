package gpu

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/cuda"
	"github.com/libcuzk/libcuzk/cuda/driver"
	"github.com/libcuzk/libcuzk/engine"
	"github.com/libcuzk/libcuzk/engine/backend"
	"github.com/libcuzk/libcuzk/engine/sched"
	"github.com/libcuzk/libcuzk/engine/synth"
	"github.com/libcuzk/libcuzk/tests/cudasim"
)

// How a simulated driver answers virtual memory calls beside a broken context
// (cudasim.Config.BrokenVirtual). A card has one way, whichever it is.
func brokenVirtual() []int { return pick([]int{0}, []int{0, 1, 2}) }

// contextSlackMiB is how much two contexts that do the same may differ; what a
// lost one leaves behind would be some chunks of 256 MiB.
const contextSlackMiB = 64

// TestLostCard breaks the engine's context under three workers: one with a job
// whose caller has its rows back, two with jobs that block their callers.
func TestLostCard(t *testing.T) {
	for _, mode := range brokenVirtual() {
		t.Run(fmt.Sprint("virtual memory calls, way ", mode), func(t *testing.T) {
			r := openWith(t, cuda.Options{}, cudasim.Config{BrokenVirtual: mode})
			c := r.circuitOfCPU(synth.PoRepLike(pick(1<<14, 40), 5), 1)
			defer c.free()
			r.loseCard(c, faults[0]) // what is made once is there now
			before := r.held()
			for _, f := range faults {
				r.loseCard(c, f)
			}
			after := r.held()
			t.Logf("before %+v, after %+v", before, after)
			after.check(t, before, contextSlackMiB)
		})
	}
}

// loseCard breaks the card once and checks what becomes of its jobs.
func (r *rig) loseCard(c *circuit, f fault) {
	r.t.Helper()
	before := r.Metrics().Devices[0]
	kept := c.partition(1)
	a := *kept.Assignment
	a.A = append(a.A[:0:0], a.A...) // rows by which its task is known
	kept.Assignment = &a
	read, release := make(chan struct{}), make(chan struct{})
	var once atomic.Bool
	hook := func(task *backend.Task) {
		if unsafe.SliceData(task.Assignment.A) == unsafe.SliceData(a.A) && once.CompareAndSwap(false, true) {
			close(read)
			<-release
		}
	}
	r.gpu.rowsRead.Store(&hook)
	defer r.gpu.rowsRead.Store(nil)

	started, err := r.Start(r.t.Context(), c.srs, []engine.Partition{kept}, engine.DefaultProveOptions())
	require.NoError(r.t, err)
	<-read
	require.NoError(r.t, started.WaitRows(r.t.Context()))
	const blocking = 2
	var calls sync.WaitGroup
	for i := range blocking {
		calls.Go(func() {
			p := c.partition(uint64(10 + i))
			proof, err := r.Prove(r.t.Context(), c.srs, p, engine.DefaultProveOptions())
			if assert.NoError(r.t, err, "a blocking job is run again") {
				assert.Equal(r.t, c.ExpectedProof(p.R, p.S), proof)
			}
		})
	}
	// A job that comes to the card only after its reset would need no retry.
	const claim = "claim"
	require.Eventually(r.t, func() bool {
		return r.Metrics().Devices[0].Stages[claim].Count == before.Stages[claim].Count+1+blocking
	}, time.Minute, time.Millisecond)
	struck := r.strike(f)
	close(release)
	require.True(r.t, driver.Sticky(struck), "%s: %v", f.name, struck)
	_, err = started.Wait(r.t.Context())
	require.ErrorIs(r.t, err, sched.ErrDeviceLost, "%s: a job whose rows are gone is not run again", f.name)
	require.ErrorContains(r.t, err, "try again")
	calls.Wait()

	for step := range uint64(3) {
		p := c.partition(20 + step)
		require.Equal(r.t, c.ExpectedProof(p.R, p.S), r.prove(c.srs, p, engine.AnyDevice), "%s: proofs after the reset", f.name)
	}
	now := r.Metrics().Devices[0]
	assert.EqualValues(r.t, 1, now.Resets-before.Resets, "%s: resets", f.name)
	assert.EqualValues(r.t, blocking, now.Retries-before.Retries, "%s: retries", f.name)
	assert.Equal(r.t, before.FixedBytes, now.FixedBytes, "%s: memory that stays with a lost context", f.name)
	r.t.Logf("%s: the driver says: %v", f.name, struck)
	r.t.Logf("%s: the job says: %v", f.name, err)
}

// A context that breaks while nothing runs: the next job finds out and is run
// again, or the engine is closed and gives everything back.
func TestCardLostWhileIdle(t *testing.T) {
	for _, mode := range brokenVirtual() {
		t.Run(fmt.Sprint("virtual memory calls, way ", mode), func(t *testing.T) {
			r := openWith(t, cuda.Options{}, cudasim.Config{BrokenVirtual: mode})
			c := r.circuitOfCPU(synth.PoRepLike(pick(1<<14, 40), 5), 1)
			p := c.partition(0)
			prove := func() {
				require.Equal(t, c.ExpectedProof(p.R, p.S), r.prove(c.srs, p, engine.AnyDevice))
			}
			prove()
			before := r.held()
			require.Error(t, r.strike(faults[0]))
			prove()
			assert.EqualValues(t, 1, r.Metrics().Devices[0].Resets)
			r.held().check(t, before, contextSlackMiB)
			require.Error(t, r.strike(faults[0]))
			c.free()
			require.NoError(t, r.Close())
			r.closed = true
			assert.Less(t, r.vramMiB(), before.vramMiB)
			if r.sim != nil {
				assert.Zero(t, r.vramMiB())
			}
		})
	}
}

// A driver that does not take the memory of a lost context back, or makes no
// new one, for a while.
func TestLostCardWhoseDriverRefuses(t *testing.T) {
	if onCard() {
		t.Skip("a card's driver refuses nothing on demand")
	}
	const refused = 999
	lose := func(t *testing.T, call string, want error) (r *rig, c *circuit) {
		r = openWith(t, cuda.Options{}, cudasim.Config{})
		c = r.circuitOfCPU(synth.PoRepLike(40, 5), 1)
		t.Cleanup(c.free)
		p := c.partition(0)
		r.prove(c.srs, p, engine.AnyDevice)
		require.Error(t, r.strike(faults[0]))
		r.sim.Fault(cudasim.Fault{Call: call, Nth: 1, FromThenOn: true, Code: refused})
		proof, err := r.Prove(t.Context(), c.srs, p, engine.DefaultProveOptions())
		require.ErrorIs(t, err, want)
		if err == nil {
			require.Equal(t, c.ExpectedProof(p.R, p.S), proof)
		}
		return r, c
	}
	for _, call := range []string{"cuMemUnmap", "cuMemRelease", "cuMemAddressFree"} {
		t.Run(call, func(t *testing.T) {
			r, _ := lose(t, call, nil)
			m := r.Metrics().Devices[0]
			if call != "cuMemAddressFree" {
				assert.GreaterOrEqual(t, m.FixedBytes, uint64(522<<20)+m.MappedBytes, "what is not taken back is counted")
			}
			r.sim.ClearFaults()
			require.NoError(t, r.Close())
			r.closed = true
			assert.Zero(t, r.vramMiB(), "it is taken back at the end")
		})
	}
	t.Run("cuCtxCreate", func(t *testing.T) {
		r, c := lose(t, "cuCtxCreate", sched.ErrDeviceLost)
		r.sim.ClearFaults()
		p := c.partition(1)
		require.Equal(t, c.ExpectedProof(p.R, p.S), r.prove(c.srs, p, engine.AnyDevice), "once the driver makes one")
		assert.EqualValues(t, 1, r.Metrics().Devices[0].Resets)
	})
}
