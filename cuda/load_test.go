package cuda

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/engine/backend"
	"github.com/libcuzk/libcuzk/engine/groth16"
	"github.com/libcuzk/libcuzk/internal/circuits/synth"
	"github.com/libcuzk/libcuzk/internal/sched"
	"github.com/libcuzk/libcuzk/internal/vram"
	"github.com/libcuzk/libcuzk/tests/cudasim"
)

// heldLoad begins to load p, up to the first piece, and goes on when release is
// called. ended gives the load's error.
func heldLoad(t *testing.T, ctx context.Context, d *device, p proven) (release func(), ended <-chan error) {
	t.Helper()
	r, err := d.setFor(p.params)
	require.NoError(t, err)
	begun, held, end := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		end <- d.jobs.Load(ctx, r.Need(r.set), func(ctx context.Context, l *sched.Loading) error {
			close(begun)
			select {
			case <-held:
				return d.fill(r)(ctx, l)
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		})
	}()
	<-begun
	return func() { close(held) }, end
}

// nothingLoaded checks that a device holds no set, once no load is under way.
func nothingLoaded(t *testing.T, d *device) {
	t.Helper()
	require.Eventually(t, func() bool { return d.Stats().SetBytes == 0 }, time.Minute, time.Millisecond)
	require.Empty(t, d.known())
	// Its place is given back once the copies of the load that was cancelled have ended.
	require.Eventually(t, func() bool {
		require.NoError(t, d.jobs.Trim())
		return d.Stats().MappedBytes == 0
	}, time.Minute, time.Millisecond)
}

// TestPartitionsGoOnBesideALoad proves partitions of another set while a load is
// held up, for which a partition waits: that one parks.
func TestPartitionsGoOnBesideALoad(t *testing.T) {
	large, small := makeProven(t, synth.PoRepLike(1500, 9), 1), makeProven(t, synth.Dense(60, 3), 2)
	d, _ := open(t, Options{chunkBytes: vram.Granule}, cudasim.Config{})
	require.NoError(t, d.Load(t.Context(), small.params))
	release, ended := heldLoad(t, t.Context(), d, large)

	parked, proved := make(chan struct{}), make(chan *groth16.Sums, 1)
	go func() {
		sums, err := d.Prove(t.Context(), &backend.Partition{
			Params: large.params, Assignment: large.circuit.Assignment(), RowsRead: func() {}, Stage: func(string, float64) {},
			Park: func(wait func() error) error { close(parked); return wait() },
		})
		assert.NoError(t, err)
		proved <- sums
	}()
	<-parked
	for range 3 {
		got, err := sums(t.Context(), d, small)
		require.NoError(t, err)
		small.check(t, got)
	}
	assert.Zero(t, d.jobs.Stats().Outstanding, "the partition that waits has no ticket")
	assert.Empty(t, proved)
	release()
	require.NoError(t, <-ended)
	large.check(t, <-proved)
	assert.Zero(t, d.Stats().Streamed)
}

// TestCancelledLoadsLeaveNothing cancels ever later, until a load ends before.
func TestCancelledLoadsLeaveNothing(t *testing.T) {
	p := makeProven(t, synth.PoRepLike(1500, 9), 1)
	d, _ := open(t, Options{chunkBytes: vram.Granule}, cudasim.Config{})
	for after := 100 * time.Microsecond; ; after *= 2 {
		ctx, cancel := context.WithTimeout(t.Context(), after)
		err := d.Load(ctx, p.params)
		cancel()
		if err == nil {
			break
		}
		require.ErrorIs(t, err, context.DeadlineExceeded)
		nothingLoaded(t, d)
	}
	got, err := sums(t.Context(), d, p)
	require.NoError(t, err)
	p.check(t, got)

	t.Run("and one that is cancelled does not take the others' load along", func(t *testing.T) {
		d.Drop(p.params)
		nothingLoaded(t, d)
		ctx, cancel := context.WithCancel(t.Context())
		release, ended := heldLoad(t, ctx, d, p)
		var group sync.WaitGroup
		for range 2 {
			group.Go(func() { assert.NoError(t, d.Load(t.Context(), p.params)) })
		}
		for waits := 0; waits < 2; time.Sleep(time.Millisecond) {
			d.mu.Lock()
			waits = d.sets[p.params].opening
			d.mu.Unlock()
		}
		cancel()
		require.ErrorIs(t, <-ended, context.Canceled)
		release()
		group.Wait()
		got, err := sums(t.Context(), d, p)
		require.NoError(t, err)
		p.check(t, got)
	})
}

// TestLostWhileLoading breaks the context in each stage of a load: the reset waits
// for the load, and the set is loaded anew.
func TestLostWhileLoading(t *testing.T) {
	needsFaults(t)
	p := makeProven(t, synth.Dense(300, 3), 1)
	const illegalAddress = 700
	for name, fault := range map[string]cudasim.Fault{
		"while its place is mapped": {Call: "cuMemMap", Nth: 1, Code: illegalAddress, Sticky: true},
		"enqueueing a copy":         {Call: "cuMemcpyHtoDAsync", Nth: 2, Code: illegalAddress, Sticky: true},
		"copying":                   {Call: cudasim.RunCopy, Nth: 2, Code: illegalAddress},
		"converting":                {Call: cudasim.RunKernel, Nth: 3, Code: illegalAddress},
		"waiting for the end":       {Call: "cuEventQuery", Nth: 4, Code: illegalAddress, Sticky: true},
	} {
		t.Run(name, func(t *testing.T) {
			d, sim := open(t, Options{chunkBytes: vram.Granule}, cudasim.Config{Recovers: true})
			sim.Fault(fault)
			require.NoError(t, d.Load(t.Context(), p.params), "after a reset")
			require.EqualValues(t, 1, d.jobs.Stats().Losses)
			sim.ClearFaults()
			got, err := sums(t.Context(), d, p)
			require.NoError(t, err)
			p.check(t, got)
		})
	}
}
