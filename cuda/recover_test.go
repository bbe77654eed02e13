package cuda

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/cuda/internal/devcontext"
	"github.com/libcuzk/libcuzk/engine/backend"
	"github.com/libcuzk/libcuzk/internal/circuits/synth"
	"github.com/libcuzk/libcuzk/internal/sched"
	"github.com/libcuzk/libcuzk/internal/vram"
	"github.com/libcuzk/libcuzk/tests/cudasim"
)

// TestACancelledJobLeavesNoLostCard: what it has enqueued may run until the card
// is reset, which another job that has not left yet delays.
func TestACancelledJobLeavesNoLostCard(t *testing.T) {
	d, _ := open(t, Options{}, cudasim.Config{})
	old := d.current.Load()
	begun, goOn, other := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		need := vram.Need{Resident: []vram.Request{{Bytes: 1}}}
		other <- d.jobs.Run(t.Context(), need, sched.Work{Upload: func(context.Context, *sched.Ticket) error {
			close(begun)
			<-goOn
			return nil
		}})
	}()
	<-begun
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	ended := make(chan *devcontext.Context, 1)
	go func() {
		lost := d.jobs.Noted(fmt.Errorf("%w: by the test", sched.ErrDeviceLost))
		err := d.withRecovery(ctx, func() bool { return false }, func() error { return lost })
		assert.ErrorIs(t, err, sched.ErrDeviceLost)
		ended <- d.current.Load()
	}()
	select {
	case at := <-ended:
		assert.Fail(t, "the job has left before the reset")
		ended <- at
	case <-time.After(100 * time.Millisecond): // however long: it cannot leave
	}
	close(goOn)
	require.ErrorIs(t, <-other, sched.ErrDeviceLost)
	assert.True(t, old != <-ended, "the card has been reset")
}

// TestWhatALostContextKeepsIsPartOfTheBudget resets a card while the driver takes
// no memory back, within a budget for one job: the next one is refused with the
// numbers instead of being given memory beyond the budget, until it does.
func TestWhatALostContextKeepsIsPartOfTheBudget(t *testing.T) {
	needsFaults(t)
	p := makeProven(t, synth.Dense(60, 3), 1)
	budget := leastBudget(t, p)
	d, sim := open(t, Options{BudgetBytes: budget, chunkBytes: vram.Granule}, cudasim.Config{})
	got, err := sums(t.Context(), d, p)
	require.NoError(t, err)
	p.check(t, got)
	sim.Fault(cudasim.Fault{Call: "cuMemUnmap", Code: 800})
	sim.Fault(cudasim.Fault{Call: "cuEventQuery", Nth: 1, Code: 999, Sticky: true})
	_, err = sums(t.Context(), d, p)
	if errors.Is(err, backend.ErrDeviceLost) { // its rows had been read
		_, err = sums(t.Context(), d, p)
	}
	require.ErrorIs(t, err, backend.ErrDeviceMemory)
	assert.ErrorContains(t, err, "a lost context of gpu0")
	assert.EqualValues(t, 1, d.jobs.Stats().Losses)
	assert.LessOrEqual(t, sim.Report().Devices[0].Peak, budget)
	sim.ClearFaults()
	require.NoError(t, d.takeBack(d.card.Unbound))
	got, err = sums(t.Context(), d, p)
	require.NoError(t, err)
	p.check(t, got)
}
