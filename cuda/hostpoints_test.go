package cuda

import (
	"context"
	"sync"
	"testing"
	"time"

	bls "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/cuda/driver"
	"github.com/libcuzk/libcuzk/engine/groth16"
	"github.com/libcuzk/libcuzk/engine/srs"
	"github.com/libcuzk/libcuzk/internal/circuits/synth"
	"github.com/libcuzk/libcuzk/tests/cudasim"
)

// TestAnEndingSessionGetsNoMoreReaders: else jobs of another card that overlap
// would keep it from ending, and what it registers would end with its context.
func TestAnEndingSessionGetsNoMoreReaders(t *testing.T) {
	params, err := srs.New(&groth16.VerifyingKey{IC: make([]bls.G1Affine, 1)},
		&srs.Points{A: make([]bls.G1Affine, 1), Paged: true})
	require.NoError(t, err)
	h, err := holdPoints(params)
	require.NoError(t, err)
	require.NoError(t, params.Release())

	ending, other := &registrar{}, &registrar{}
	h.sections, err = params.Sections(t.Context())
	require.NoError(t, err)
	h.by, h.pinned[srs.SectionA] = ending, true
	done, err := h.read(t.Context(), other)
	require.NoError(t, err)

	taken := make(chan []*hostPoints, 1)
	go func() { taken <- pinnedBy(ending) }()
	require.Eventually(t, func() bool {
		pinnedPoints.mu.Lock()
		defer pinnedPoints.mu.Unlock()
		return ending.ending
	}, time.Minute, time.Millisecond)
	soon, stop := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer stop()
	_, err = h.read(soon, other)
	require.ErrorIs(t, err, context.DeadlineExceeded)

	done()
	mine := <-taken
	require.Equal(t, []*hostPoints{h}, mine)
	require.NoError(t, takenBack(mine))
	_, err = h.read(t.Context(), ending)
	require.ErrorIs(t, err, driver.ErrClosed)
	require.NoError(t, h.letGo())
	assert.ErrorIs(t, params.Release(), srs.ErrReleased)
}

// TestDroppingASetWaitsForNoRegistration drops sets while another one, and then
// itself, is being registered, which lasts as long as the test wants.
func TestDroppingASetWaitsForNoRegistration(t *testing.T) {
	needsFaults(t)
	registered, coming := makeProven(t, synth.Dense(60, 3), 1), makeProven(t, synth.Dense(60, 4), 1)
	d, sim := open(t, streamingOptions(t, registered, coming), cudasim.Config{})
	pinned := sim.Report().Live.Pinned
	got, err := sums(t.Context(), d, registered)
	require.NoError(t, err)
	registered.check(t, got)

	// What registers is kept busy.
	begun, goOn := make(chan struct{}), make(chan struct{})
	var busy sync.WaitGroup
	busy.Go(func() {
		pins := d.current.Load().pins
		assert.NoError(t, pins.pins.Do(pins.context, func(*driver.Bound) error {
			close(begun)
			<-goOn
			return nil
		}))
	})
	<-begun
	got, err = sums(t.Context(), d, registered)
	require.NoError(t, err, "a job whose set is registered")
	registered.check(t, got)
	d.Drop(registered.params)
	assert.Equal(t, pinned, sim.Report().Live.Pinned, "unpinned when Drop returns")

	ctx, cancel := context.WithCancel(t.Context())
	job := make(chan error, 1)
	go func() {
		_, err := sums(ctx, d, coming)
		job <- err
	}()
	of := func() *hostPoints {
		pinnedPoints.mu.Lock()
		defer pinnedPoints.mu.Unlock()
		if h := pinnedPoints.sets[coming.params]; h != nil && h.busy {
			return h
		}
		return nil
	}
	require.Eventually(t, func() bool { return of() != nil }, time.Minute, time.Millisecond)
	cancel()
	require.ErrorIs(t, <-job, context.Canceled)
	d.Drop(coming.params)
	require.NotNil(t, of(), "still to be registered")
	close(goOn)
	busy.Wait()
	require.Eventually(t, func() bool {
		pinnedPoints.mu.Lock()
		defer pinnedPoints.mu.Unlock()
		return len(pinnedPoints.sets) == 0
	}, time.Minute, time.Millisecond)
	assert.Equal(t, pinned, sim.Report().Live.Pinned, "given back by who registered it")
}
