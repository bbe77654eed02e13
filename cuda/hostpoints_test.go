package cuda

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/cuda/driver"
	"github.com/libcuzk/libcuzk/cuda/internal/registered"
	"github.com/libcuzk/libcuzk/internal/circuits/synth"
	"github.com/libcuzk/libcuzk/tests/cudasim"
)

// TestDroppingASetWaitsForNoRegistration drops sets while another one, and then
// itself, is being registered, which lasts as long as the test wants.
func TestDroppingASetWaitsForNoRegistration(t *testing.T) {
	needsFaults(t)
	listed, coming := makeProven(t, synth.Dense(60, 3), 1), makeProven(t, synth.Dense(60, 4), 1)
	d, sim := open(t, streamingOptions(t, listed, coming), cudasim.Config{})
	pinned := sim.Report().Live.Pinned
	got, err := sums(t.Context(), d, listed)
	require.NoError(t, err)
	listed.check(t, got)

	// What registers is kept busy.
	begun, goOn := make(chan struct{}), make(chan struct{})
	var busy sync.WaitGroup
	busy.Go(func() {
		pins := d.current.Load().Registrar
		assert.NoError(t, pins.Points.Do(pins.Context, func(*driver.Bound) error {
			close(begun)
			<-goOn
			return nil
		}))
	})
	<-begun
	got, err = sums(t.Context(), d, listed)
	require.NoError(t, err, "a job whose set is registered")
	listed.check(t, got)
	d.Drop(listed.params)
	assert.Equal(t, pinned, sim.Report().Live.Pinned, "unpinned when Drop returns")

	ctx, cancel := context.WithCancel(t.Context())
	job := make(chan error, 1)
	go func() {
		_, err := sums(ctx, d, coming)
		job <- err
	}()
	require.Eventually(t, func() bool { return registered.IsBusy(coming.params) }, time.Minute, time.Millisecond)
	cancel()
	require.ErrorIs(t, <-job, context.Canceled)
	d.Drop(coming.params)
	require.True(t, registered.IsBusy(coming.params), "still to be registered")
	close(goOn)
	busy.Wait()
	require.Eventually(t, func() bool { return registered.SetsKept() == 0 }, time.Minute, time.Millisecond)
	assert.Equal(t, pinned, sim.Report().Live.Pinned, "given back by who registered it")
}
