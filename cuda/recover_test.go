package cuda

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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
	ended := make(chan *session, 1)
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
