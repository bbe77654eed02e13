package cuda

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/cuda/driver"
	"github.com/libcuzk/libcuzk/cuda/internal/registered"
	"github.com/libcuzk/libcuzk/engine/backend"
	"github.com/libcuzk/libcuzk/internal/circuits/synth"
	"github.com/libcuzk/libcuzk/internal/sched"
	"github.com/libcuzk/libcuzk/tests/cudasim"
)

// openCards opens n simulated cards of one provider.
func openCards(t *testing.T, o Options, c cudasim.Config, n int) (*Provider, []*device, *cudasim.Sim) {
	t.Helper()
	needsFaults(t)
	c.Devices = n
	sim := cudasim.New(t, c)
	provider := NewProvider(o)
	var cards []*device
	for i := range n {
		opened, err := provider.Open(i)
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, opened.Close()) })
		cards = append(cards, opened.(*device))
	}
	return provider, cards, sim
}

// breakContext breaks a card's context: its next job finds it lost.
func breakContext(t *testing.T, d *device, sim *cudasim.Sim) {
	t.Helper()
	const illegalAddress = 700
	sim.Fault(cudasim.Fault{Call: "cuCtxSynchronize", Nth: 1, Code: illegalAddress, Sticky: true})
	require.Error(t, d.Context().Main().Do((*driver.Bound).SynchronizeDeviceWide))
	sim.ClearFaults()
}

const (
	registerCalls = "cuMemHostRegister"
	pinCalls      = "cuMemHostAlloc"
)

// TestHostMemoryOfALostCardIsPinnedByAnother: the lost context refuses to unpin,
// so the other one can pin only when that context has gone.
func TestHostMemoryOfALostCardIsPinnedByAnother(t *testing.T) {
	for name, recovers := range map[string]bool{"the card comes back": true, "the card is gone": false} {
		t.Run(name, func(t *testing.T) {
			provider, cards, sim := openCards(t, Options{}, cudasim.Config{Recovers: recovers}, 2)
			p := makeProven(t, synth.Dense(60, 3), 1)
			memory := make([]byte, 1<<16)
			require.NoError(t, provider.PinHost(memory))
			idle := cards[1].Stats().PinnedBytes
			require.Equal(t, idle+uint64(len(memory)), cards[0].Stats().PinnedBytes)

			breakContext(t, cards[0], sim)
			_, err := sums(t.Context(), cards[0], p)
			if !recovers {
				require.Error(t, err)
			}
			assert.Equal(t, idle+uint64(len(memory)), cards[1].Stats().PinnedBytes)
			assert.EqualValues(t, 2, sim.Report().Calls[registerCalls], "once with each card")
			require.NoError(t, provider.UnpinHost(&memory[0]))
			assert.Equal(t, idle, cards[1].Stats().PinnedBytes)
		})
	}
}

// TestOpeningInVainPinsNothing waits for room on a card that another process
// fills: what was asked to be pinned is pinned once, when the card is open.
func TestOpeningInVainPinsNothing(t *testing.T) {
	needsFaults(t)
	t.Setenv("TMPDIR", t.TempDir())
	const cardBytes = 4 << 30
	for name, o := range map[string]Options{
		"that cannot wait":                  {},
		"that waits":                        {MemoryWait: 10 * retryOpening},
		"with no room for what is reserved": {BudgetShare: 1},
	} {
		t.Run(name, func(t *testing.T) {
			sim := cudasim.New(t, cudasim.Config{VRAMBytes: cardBytes})
			left := takenWhenOpened() + 1<<20 // too little for anything beside the context and the buffers
			if o.BudgetShare > 0 || o.MemoryWait > 0 {
				left = takenWhenOpened() - 1<<20 // with a budget nothing more need be free at first
			}
			sim.Seize(0, cardBytes-left)
			provider := NewProvider(o)
			memory := make([]byte, 1<<16)
			require.ErrorIs(t, provider.PinHost(memory), registered.ErrNoneOpen)
			_, err := provider.Open(0)
			var busy *backend.BusyError
			require.ErrorAs(t, err, &busy)
			calls := sim.Report().Calls
			assert.NotZero(t, calls[contextCalls])
			assert.Zero(t, calls[registerCalls])
			assert.Zero(t, calls[pinCalls])

			sim.Seize(0, left-cardBytes)
			opened, err := provider.Open(0)
			require.NoError(t, err)
			assert.EqualValues(t, 1, sim.Report().Calls[registerCalls])
			require.NoError(t, provider.UnpinHost(&memory[0]))
			require.NoError(t, opened.Close())
		})
	}
}

// TestHostMemoryThatNoCardPins has messages that name all cards.
func TestHostMemoryThatNoCardPins(t *testing.T) {
	provider, cards, sim := openCards(t, Options{}, cudasim.Config{}, 2)
	memory := make([]byte, 1<<16)
	names := []string{fmt.Sprintf("gpu0 %s", cards[0].card.Name), fmt.Sprintf("gpu1 %s", cards[1].card.Name)}
	requireNamed := func(err error) {
		t.Helper()
		for _, name := range names {
			require.ErrorContains(t, err, name)
		}
		require.ErrorContains(t, err, fmt.Sprintf("%d bytes", len(memory)))
	}
	const outOfMemory = 2
	sim.Fault(cudasim.Fault{Call: registerCalls, Nth: 1, FromThenOn: true, Code: outOfMemory})
	requireNamed(provider.PinHost(memory))
	sim.ClearFaults()
	for _, d := range cards {
		require.NoError(t, d.Close())
	}
	other := make([]byte, len(memory))
	err := provider.PinHost(other)
	require.ErrorIs(t, err, registered.ErrNoneOpen)
	requireNamed(err)
	for _, m := range [][]byte{memory, other} {
		require.NoError(t, provider.UnpinHost(&m[0]))
	}
}

// TestALostCardTakesNoRegistrationFromAnother loses the card that has registered
// a set while jobs of another card read it: its context, and the registration
// with it, stays until they have ended.
func TestALostCardTakesNoRegistrationFromAnother(t *testing.T) {
	const destroyCalls, unregisterCalls = "cuCtxDestroy", "cuMemHostUnregister"
	for name, recovers := range map[string]bool{"the card comes back": true, "the card is gone": false} {
		t.Run(name, func(t *testing.T) {
			p := makeProven(t, synth.Dense(200, 3), 1)
			_, cards, sim := openCards(t, streamingOptions(t, p), cudasim.Config{Recovers: recovers}, 2)
			first, second := cards[0], cards[1]
			for _, d := range cards {
				got, err := sums(t.Context(), d, p)
				require.NoError(t, err)
				p.check(t, got)
			}
			require.NotZero(t, first.Stats().HostSetBytes)
			require.Zero(t, second.Stats().HostSetBytes)

			// A job of the second card is under way, and more come.
			r, err := second.setFor(p.params)
			require.NoError(t, err)
			_, done, err := second.stream(t.Context(), r)
			require.NoError(t, err)
			breakContext(t, first, sim)
			lost, old := make(chan error, 1), first.current.Load()
			go func() {
				_, err := sums(t.Context(), first, p)
				lost <- err
			}()
			require.Eventually(t, old.Registrar.IsEnding, time.Minute, time.Millisecond)
			var others sync.WaitGroup
			for range 2 {
				others.Go(func() {
					got, err := sums(t.Context(), second, p)
					if assert.NoError(t, err) {
						p.check(t, got)
					}
				})
			}
			calls := sim.Report().Calls
			assert.Zero(t, calls[destroyCalls], "the context lives as long as the reader")
			assert.Zero(t, calls[unregisterCalls])
			done()
			others.Wait()
			if err := <-lost; !recovers {
				require.ErrorIs(t, err, sched.ErrDeviceLost)
			} else {
				require.NoError(t, err)
			}
			got, err := sums(t.Context(), second, p)
			require.NoError(t, err)
			p.check(t, got)
		})
	}
}

// TestAPanicOfAReset is an error that says so. Other cards' jobs do not wait for
// it, and the next job resets the card.
func TestAPanicOfAReset(t *testing.T) {
	p := makeProven(t, synth.Dense(200, 3), 1)
	_, cards, sim := openCards(t, streamingOptions(t, p), cudasim.Config{Recovers: true}, 2)
	first, second := cards[0], cards[1]
	got, err := sums(t.Context(), first, p)
	require.NoError(t, err)
	p.check(t, got)
	breakContext(t, first, sim)
	kernels := first.current.Load().Kernels
	whole := kernels.Kernels
	kernels.Kernels = nil
	_, err = sums(t.Context(), first, p)
	require.ErrorContains(t, err, "BUG: ")
	require.ErrorIs(t, err, sched.ErrDeviceLost)
	for _, d := range []*device{second, first} {
		kernels.Kernels = whole
		got, err = sums(t.Context(), d, p)
		require.NoError(t, err)
		p.check(t, got)
	}
	assert.False(t, errors.Is(first.jobs.Lost(), sched.ErrDeviceLost))
}
