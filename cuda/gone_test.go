package cuda

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/cuda/driver"
	"github.com/libcuzk/libcuzk/cuda/internal/registered"
	"github.com/libcuzk/libcuzk/engine/backend"
	"github.com/libcuzk/libcuzk/internal/circuits/synth"
	"github.com/libcuzk/libcuzk/internal/sched"
	"github.com/libcuzk/libcuzk/tests/cudasim"
)

const contextCalls = "cuCtxCreate"

// requireGone checks an error that a card which is gone gives.
func requireGone(t *testing.T, err error, code driver.Result) {
	t.Helper()
	var gone *backend.GoneError
	require.ErrorAs(t, err, &gone)
	require.ErrorIs(t, err, sched.ErrDeviceLost)
	assert.True(t, driver.Is(gone, code), "%v", gone)
	for _, part := range []string{"gpu0", "restart the process", contextCalls} {
		assert.ErrorContains(t, err, part)
	}
}

// TestCardThatIsGone breaks a context after which the driver makes no other
// one: all jobs under way end, later ones ask for none, and what the card holds
// is given back.
func TestCardThatIsGone(t *testing.T) {
	needsFaults(t)
	p := makeProven(t, synth.Dense(300, 3), 1)
	const illegalAddress, launchFailed = 700, 719
	resident := func(*testing.T) Options { return Options{} }
	streamed := func(t *testing.T) Options { return streamingOptions(t, p) }
	for name, test := range map[string]struct {
		options func(*testing.T) Options
		virtual int // what virtual memory calls say beside the broken context
		fault   cudasim.Fault
	}{
		"in a kernel":                    {resident, 0, cudasim.Fault{Call: cudasim.RunKernel, Nth: 20, Code: illegalAddress}},
		"at a launch":                    {resident, 1, cudasim.Fault{Call: "cuLaunchKernel", Nth: 30, Code: launchFailed, Sticky: true}},
		"before anything is read":        {resident, 2, cudasim.Fault{Call: "cuMemCreate", Nth: 1, Code: illegalAddress, Sticky: true}},
		"a kernel of a streaming job":    {streamed, 2, cudasim.Fault{Call: cudasim.RunKernel, Nth: 25, Code: illegalAddress}},
		"while a streamed set is pinned": {streamed, 0, cudasim.Fault{Call: "cuMemHostRegister", Nth: 2, Code: illegalAddress, Sticky: true}},
	} {
		t.Run(name, func(t *testing.T) {
			d, sim := open(t, test.options(t), cudasim.Config{BrokenVirtual: test.virtual})
			code := driver.Result(test.fault.Code)
			sim.Fault(test.fault)
			const workers = 3
			var all sync.WaitGroup
			errs := make([]error, workers)
			for i := range workers {
				all.Go(func() { _, errs[i] = sums(t.Context(), d, p) })
			}
			all.Wait()
			failed := 0
			for _, err := range errs {
				if err != nil {
					failed++
					requireGone(t, err, code)
				}
			}
			require.Positive(t, failed)
			asked := sim.Report().Calls[contextCalls]
			assert.EqualValues(t, 2, asked, "one for the card, one after the loss")
			for range workers {
				_, err := sums(t.Context(), d, p)
				requireGone(t, err, code)
			}
			requireGone(t, d.Load(t.Context(), p.params), code)
			assert.Equal(t, asked, sim.Report().Calls[contextCalls], "no later job asks for a context")
			assert.Contains(t, d.Info().Unusable, "restart the process")
			now := d.Stats()
			assert.EqualValues(t, 1, now.Resets)
			assert.Equal(t, backend.Stats{Resets: 1, UploadedBytes: now.UploadedBytes, Streamed: now.Streamed}, now, "nothing is in use")
			assert.Zero(t, sim.Report().Devices[0].Used)

			// Another engine of this process gets the same answer.
			_, err := NewProvider(Options{}).Open(0)
			requireGone(t, err, code)
			d.Drop(p.params)
			require.NoError(t, d.Close())
		})
	}
}

// TestGoneWhileClosing closes a device whose context is broken, which nobody
// has found out before.
func TestGoneWhileClosing(t *testing.T) {
	needsFaults(t)
	p := makeProven(t, synth.Dense(60, 3), 1)
	for name, refusing := range map[string]bool{"its memory is given back": false, "the driver keeps that": true} {
		t.Run(name, func(t *testing.T) {
			d, sim := open(t, Options{}, cudasim.Config{})
			got, err := sums(t.Context(), d, p)
			require.NoError(t, err)
			p.check(t, got)
			const illegalAddress = 700
			sim.Fault(cudasim.Fault{Call: "cuCtxSynchronize", Nth: 1, Code: illegalAddress, Sticky: true})
			require.Error(t, d.Context().Main().Do((*driver.Bound).SynchronizeDeviceWide))
			if refusing {
				sim.Fault(cudasim.Fault{Call: "cuMemUnmap", Nth: 1, FromThenOn: true, Code: illegalAddress})
				_, err = sums(t.Context(), d, p)
				requireGone(t, err, illegalAddress)
				assert.NotZero(t, d.Stats().FixedBytes, "what the driver keeps is counted")
			}
			require.NoError(t, d.Close())
			assert.Equal(t, refusing, sim.Report().Devices[0].Used > 0)
		})
	}
}

// TestHostMemoryWhenTheCardIsGone registers host memory with a card that is
// lost for good: it stays ordinary memory.
func TestHostMemoryWhenTheCardIsGone(t *testing.T) {
	needsFaults(t)
	sim := cudasim.New(t, cudasim.Config{})
	provider := NewProvider(Options{})
	opened, err := provider.Open(0)
	require.NoError(t, err)
	d := opened.(*device)
	p := makeProven(t, synth.Dense(60, 3), 1)
	memory := make([]byte, 1<<16)
	require.NoError(t, provider.PinHost(memory))
	const launchFailed = 719
	sim.Fault(cudasim.Fault{Call: "cuLaunchKernel", Nth: 1, Code: launchFailed, Sticky: true})
	_, err = sums(t.Context(), d, p)
	requireGone(t, err, launchFailed)
	memory[0], memory[len(memory)-1] = 1, 2
	other := make([]byte, 1<<12)
	require.ErrorIs(t, provider.PinHost(other), registered.ErrNoneOpen)
	for _, m := range [][]byte{memory, other} {
		assert.NoError(t, provider.UnpinHost(&m[0]))
	}
	assert.Zero(t, d.Stats().PinnedBytes)
	d.Drop(p.params)
	require.NoError(t, d.Close())
}
