package cuda

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/cuda/driver"
	"github.com/libcuzk/libcuzk/cuda/internal/devcontext"
	"github.com/libcuzk/libcuzk/cuda/internal/staging"
	"github.com/libcuzk/libcuzk/engine/backend"
	"github.com/libcuzk/libcuzk/internal/circuits/synth"
	"github.com/libcuzk/libcuzk/internal/cudatest"
	"github.com/libcuzk/libcuzk/internal/launch"
	"github.com/libcuzk/libcuzk/internal/sched"
	"github.com/libcuzk/libcuzk/internal/vram"
	"github.com/libcuzk/libcuzk/tests/cudasim"
)

// Cards as their drivers describe them.
var (
	h200      = &driver.Device{Multiprocessors: 132, ThreadsPerSM: 2048}
	simulated = &driver.Device{Multiprocessors: 4, ThreadsPerSM: 2048}
)

// fixedHere is fixedOn the card that tests run on.
func fixedHere(t testing.TB) uint64 {
	if onCard() {
		return devcontext.FixedOn(cudatest.Device(t))
	}
	return devcontext.FixedOn(simulated)
}

// takenWhenOpened is what the simulator's card has used once it is open: less
// than fixedHere, since its code is smaller than what contextBytes allows for.
func takenWhenOpened() int64 {
	const context, code = 522 << 20, 64 << 10 // of the simulator
	return int64(context + devcontext.LocalOn(simulated, devcontext.LocalBytes) + devcontext.KeptBytes + uint64(len(launch.Kernels()))*code)
}

// TestFixedMemory is what package plan's tables of budgets take for an H200.
func TestFixedMemory(t *testing.T) { assert.EqualValues(t, 710<<20, devcontext.FixedOn(h200)) }

func TestLocalMemory(t *testing.T) {
	for name, test := range map[string]struct {
		card *driver.Device
		of   uint64
		want uint64
	}{
		"what a context has":     {h200, devcontext.ContextLocalBytes, 0},
		"less than that":         {h200, 16, 0},
		"the reserve on an H200": {h200, devcontext.LocalBytes, 132 << 20},
		"in whole granules":      {simulated, devcontext.ContextLocalBytes + 1, 2 << 20},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, test.want, devcontext.LocalOn(test.card, test.of)) })
	}
}

// TestTablesHaveTheirPlace sees that tables of all domains lie in the memory
// that a session has from the start, behind the decode buffers.
func TestTablesHaveTheirPlace(t *testing.T) {
	s := &devcontext.Context{Decode: 1 << 32}
	for log := range uint32(devcontext.MaxTableLog + 1) {
		r := s.TableAt(log)
		assert.Equal(t, uint64(s.Decode)+devcontext.LoadSlots*staging.SlotBytes, r.Addr, "2^%d", log)
		assert.Equal(t, launch.TableBytes(log), r.Bytes, "2^%d", log)
		assert.LessOrEqual(t, r.Addr+r.Bytes, uint64(s.Decode)+devcontext.KeptBytes, "2^%d", log)
	}
	assert.Zero(t, s.TableAt(devcontext.MaxTableLog+1).Bytes, "larger ones have none")
}

// fullCard opens a simulated card with a budget in which one job of a circuit
// just fits, and has a neighbour take all of the card but the budget.
func fullCard(t *testing.T, o Options, faults ...cudasim.Fault) (*device, *cudasim.Sim, proven) {
	t.Helper()
	if onCard() {
		t.Skip("the simulator plays the neighbour")
	}
	const cardBytes = 2 << 30
	p := makeProven(t, synth.PoRepLike(500, 9), 1)
	sim := cudasim.New(t, cudasim.Config{VRAMBytes: cardBytes})
	for _, f := range faults {
		sim.Fault(f)
	}
	o.BudgetBytes, o.chunkBytes = leastBudget(t, p), vram.Granule
	opened, err := NewProvider(o).Open(0)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, opened.Close()) })
	used := sim.Report().Devices[0].Used
	assert.LessOrEqual(t, used, fixedHere(t))
	sim.Seize(0, cardBytes-int64(used+o.BudgetBytes-fixedHere(t)))
	return opened.(*device), sim, p
}

// noReserve is a driver that does not take local memory beforehand.
var noReserve = cudasim.Fault{Call: "cuCtxSetLimit", Code: 801}

func TestNothingIsTakenAfterOpening(t *testing.T) {
	t.Run("a job has all that it needs", func(t *testing.T) {
		d, sim, p := fullCard(t, Options{})
		got, err := sums(t.Context(), d, p)
		require.NoError(t, err)
		p.check(t, got)
		assert.Zero(t, sim.Report().Devices[0].Implicit)
	})
	t.Run("also where cuFuncLoad refuses", func(t *testing.T) {
		d, sim, p := fullCard(t, Options{}, cudasim.Fault{Call: "cuFuncLoad", Code: 801})
		got, err := sums(t.Context(), d, p)
		require.NoError(t, err)
		p.check(t, got)
		assert.Zero(t, sim.Report().Devices[0].Implicit)
	})
	t.Run("without the reserve it would not", func(t *testing.T) {
		d, _, p := fullCard(t, Options{}, noReserve)
		_, err := sums(t.Context(), d, p)
		require.ErrorContains(t, err, "cuda: cuLaunchKernel cuzk_msm_g2_reduce")
		require.True(t, driver.Is(err, driver.ErrorOutOfMemory))
	})
}

// TestLaunchWithoutMemory has a driver that takes local memory only when a
// kernel needs it, on a card that is full by then.
func TestLaunchWithoutMemory(t *testing.T) {
	task := func(p proven) *backend.Partition {
		return &backend.Partition{
			Params: p.params, Assignment: p.circuit.Assignment(), RowsRead: func() {}, RowsNeeded: func() bool { return true },
			Stage: func(string, float64) {},
		}
	}
	leave := func(sim *cudasim.Sim) { sim.Seize(0, -int64(sim.Report().Devices[0].Neighbour)) }
	t.Run("a job that may not wait fails with the numbers, and the next runs", func(t *testing.T) {
		d, sim, p := fullCard(t, Options{}, noReserve)
		require.NoError(t, d.Load(t.Context(), p.params))
		_, err := d.Prove(t.Context(), task(p))
		require.ErrorIs(t, err, sched.ErrNoMemory)
		assert.ErrorContains(t, err, "; 0 of the GPU's 2147483648 bytes are free")
		assert.ErrorContains(t, err, strconv.FormatUint(d.Stats().BudgetBytes, 10)+" bytes")
		leave(sim)
		got, err := d.Prove(t.Context(), task(p))
		require.NoError(t, err)
		p.check(t, got)
	})
	t.Run("one that may wait runs when others let go", func(t *testing.T) {
		t.Setenv("TMPDIR", t.TempDir()) // where the advisory lock is
		d, sim, p := fullCard(t, Options{MemoryWait: time.Hour}, noReserve)
		require.NoError(t, d.Load(t.Context(), p.params))
		done := make(chan error, 1)
		go func() {
			got, err := d.Prove(t.Context(), task(p))
			if err == nil {
				p.check(t, got)
			}
			done <- err
		}()
		const tries = 2
		require.Eventually(t, func() bool { return d.jobs.Stats().Failed >= tries }, time.Minute, time.Millisecond)
		leave(sim)
		require.NoError(t, <-done)
		assert.NotZero(t, sim.Report().Devices[0].Implicit)
	})
	t.Run("one whose rows are gone fails", func(t *testing.T) {
		t.Setenv("TMPDIR", t.TempDir())
		d, _, p := fullCard(t, Options{MemoryWait: time.Hour}, noReserve)
		_, err := sums(t.Context(), d, p)
		require.ErrorIs(t, err, sched.ErrNoMemory)
	})
	t.Run("one that is cancelled stops waiting", func(t *testing.T) {
		t.Setenv("TMPDIR", t.TempDir())
		d, _, p := fullCard(t, Options{MemoryWait: time.Hour}, noReserve)
		require.NoError(t, d.Load(t.Context(), p.params))
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			_, err := d.Prove(ctx, task(p))
			done <- err
		}()
		require.Eventually(t, func() bool { return d.jobs.Stats().Failed > 0 }, time.Minute, time.Millisecond)
		cancel()
		require.ErrorIs(t, <-done, context.Canceled)
	})
}

// TestBudgetBeyondTheCard has a budget that is set for larger cards than this.
func TestBudgetBeyondTheCard(t *testing.T) {
	needsFaults(t)
	const cardBytes = 1 << 30
	p := makeProven(t, synth.Dense(60, 3), 1)
	d, _ := open(t, Options{BudgetBytes: 2 * cardBytes}, cudasim.Config{VRAMBytes: cardBytes})
	assert.EqualValues(t, cardBytes, d.Stats().BudgetBytes)
	got, err := sums(t.Context(), d, p)
	require.NoError(t, err)
	p.check(t, got)
}
