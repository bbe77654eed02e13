package cuda

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/cuda/driver"
	"github.com/libcuzk/libcuzk/cuda/internal/devcontext"
	"github.com/libcuzk/libcuzk/engine/backend"
	"github.com/libcuzk/libcuzk/internal/circuits/synth"
	"github.com/libcuzk/libcuzk/internal/vram"
	"github.com/libcuzk/libcuzk/tests/cudasim"
)

// TestOpeningACardThatANeighbourFills lets another process leave too little for
// a context.
func TestOpeningACardThatANeighbourFills(t *testing.T) {
	if onCard() {
		t.Skip("the simulator plays the neighbour")
	}
	t.Setenv("TMPDIR", t.TempDir())
	const cardBytes, tooLittle = 4 << 30, 100 << 20
	taken := takenWhenOpened()
	filled := func(t *testing.T, left int64) *cudasim.Sim {
		sim := cudasim.New(t, cudasim.Config{VRAMBytes: cardBytes})
		sim.Seize(0, cardBytes-left)
		return sim
	}
	for name, left := range map[string]int64{
		"no room for a context":         tooLittle,
		"nor for local memory":          taken - devcontext.KeptBytes - 1<<20,
		"nor for buffers beside it":     taken - 1<<20,
		"nor for anything beside those": taken + 1<<20,
	} {
		t.Run(name, func(t *testing.T) {
			filled(t, left)
			_, err := NewProvider(Options{}).Open(0)
			var busy *backend.BusyError
			require.ErrorAs(t, err, &busy)
			assert.Zero(t, busy.Wait)
			assert.True(t, isDeviceMemory(err))
			assert.ErrorContains(t, err, strconv.FormatUint(fixedHere(t)+vram.Granule, 10)+" bytes")
			assert.ErrorContains(t, err, strconv.Itoa(cardBytes)+" bytes")
		})
	}
	t.Run("a job is refused because of what was free", func(t *testing.T) {
		sim := filled(t, taken+5<<19)
		p := makeProven(t, synth.PoRepLike(500, 9), 1)
		opened, err := NewProvider(Options{}).Open(0)
		require.NoError(t, err)
		defer func() { assert.NoError(t, opened.Close()) }()
		sim.Seize(0, -cardBytes+taken+5<<19) // the neighbour goes
		_, err = sums(t.Context(), opened, p)
		var tooLarge *vram.TooLargeError
		require.ErrorAs(t, err, &tooLarge)
		assert.ErrorContains(t, err, "no budget is set, so it is what was free when the card was opened")
		assert.Regexp(t, `; \d{10} of the GPU's 4294967296 bytes are free$`, err.Error())
	})
	t.Run("one that may wait says how long", func(t *testing.T) {
		const wait = 20 * time.Millisecond
		filled(t, tooLittle)
		_, err := NewProvider(Options{MemoryWait: wait}).Open(0)
		var busy *backend.BusyError
		require.ErrorAs(t, err, &busy)
		assert.Equal(t, wait, busy.Wait)
	})
	t.Run("it asks the others for room", func(t *testing.T) {
		sim := filled(t, tooLittle)
		var uuid [16]byte
		d, err := driver.Open()
		require.NoError(t, err)
		devices, err := d.Devices()
		require.NoError(t, err)
		uuid = devices[0].UUID
		watching := neighboursOf(uuid)
		defer func() { assert.NoError(t, watching.Close()) }()
		done := make(chan error, 1)
		go func() {
			// As the engine does, for as long as it takes.
			for {
				opened, err := NewProvider(Options{MemoryWait: time.Hour}).Open(0)
				if err == nil {
					done <- opened.Close()
					return
				}
				if !isDeviceMemory(err) {
					done <- err
					return
				}
			}
		}()
		require.Eventually(t, watching.Asked, time.Minute, time.Millisecond)
		sim.Seize(0, -cardBytes+tooLittle)
		require.NoError(t, <-done)
		assert.False(t, watching.Asked())
	})
}

// TestCardsTooSmall opens cards on which the context and the buffers leave
// nothing: no context is made and nothing is waited for.
func TestCardsTooSmall(t *testing.T) {
	if onCard() {
		t.Skip("the simulator's cards have any size")
	}
	t.Setenv("TMPDIR", t.TempDir())
	fixed := fixedHere(t)
	options := map[string]Options{
		"nothing set":        {},
		"one that may wait":  {MemoryWait: time.Hour},
		"a share":            {BudgetShare: 1},
		"a share, may wait":  {BudgetShare: 1, MemoryWait: time.Hour},
		"as large as it is":  {},
		"and that, may wait": {MemoryWait: time.Hour},
	}
	for _, bytes := range []uint64{vram.Granule, 512 << 20, fixed - 1, fixed, fixed + vram.Granule - 1} {
		for name, o := range options {
			if strings.HasPrefix(name, "as large") || strings.HasPrefix(name, "and that") {
				o.BudgetBytes = bytes
			}
			t.Run(fmt.Sprintf("%d bytes, %s", bytes, name), func(t *testing.T) {
				sim := cudasim.New(t, cudasim.Config{VRAMBytes: bytes})
				_, err := NewProvider(o).Open(0)
				require.ErrorIs(t, err, ErrBudget)
				for _, part := range []uint64{bytes, fixed, vram.Granule} {
					assert.ErrorContains(t, err, fmt.Sprint(part))
				}
				assert.Regexp(t, "gpu0 .", err.Error())
				assert.Zero(t, sim.Report().Calls[contextCalls])
			})
		}
	}
	t.Run("the smallest that has room", func(t *testing.T) {
		const room = 2 * vram.Granule // half of it is left when 1/20 is taken off and the rest is whole granules
		for name, o := range options {
			d, _ := open(t, o, cudasim.Config{VRAMBytes: fixed + room})
			assert.LessOrEqual(t, d.Stats().BudgetBytes, fixed+room, name)
			assert.GreaterOrEqual(t, d.Stats().BudgetBytes, fixed+vram.Granule, name)
			require.NoError(t, d.Close())
		}
	})
}
