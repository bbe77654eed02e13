package engine

import (
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/engine/backend"
	"github.com/libcuzk/libcuzk/internal/sched"
)

// illBench is an engine with two GPUs and the CPU, and what it logs.
func illBench(t *testing.T, gpus *scripted, fallback Fallback) (*bench, *lockedLog) {
	t.Helper()
	log := &lockedLog{}
	b := newBench(t, Config{
		Providers: []backend.Provider{gpus, newScripted(backend.CPU, 1)}, Fallback: fallback,
		Log: slog.New(slog.NewTextHandler(log, nil)),
	})
	return b, log
}

// TestADeviceThatCannotBeOpened has one of two GPUs that can be opened: a set is
// opened there, every job ends well, one after the other and many at once, and
// the list and the log say what is the matter with the first.
func TestADeviceThatCannotBeOpened(t *testing.T) {
	for name, refusal := range map[string]error{
		"no context":                   fmt.Errorf("%w: unavailable", ErrDevice),
		"its memory is in other hands": &backend.BusyError{Err: fmt.Errorf("%w: full", ErrDeviceMemory)},
		"lost before it was opened":    fmt.Errorf("%w: unknown error", ErrDeviceLost),
	} {
		for ill := range 2 {
			t.Run(fmt.Sprintf("%s, device %d", name, ill), func(t *testing.T) {
				gpus := newScripted(backend.CUDA, 2)
				var asked atomic.Int64
				gpus.refusing = func(ordinal int) error {
					if ordinal != ill {
						return nil
					}
					asked.Add(1)
					return refusal
				}
				b, log := illBench(t, gpus, FallbackGPU)
				const jobs, atOnce = 5, 12
				for range jobs {
					_, err := b.start(t, 1, any1()).Wait(soon(t))
					require.NoError(t, err)
				}
				_, err := b.start(t, atOnce, any1()).Wait(soon(t))
				require.NoError(t, err)
				assert.Positive(t, asked.Load())
				assert.LessOrEqual(t, asked.Load(), int64(atOnce/2), "only by the jobs that were queued there meanwhile")
				assert.Contains(t, b.Devices()[ill].Detail, "avoided for ")
				assert.Contains(t, b.Devices()[ill].Detail, refusal.Error())
				assert.Empty(t, b.Devices()[ill].Unusable)
				assert.NotContains(t, b.Devices()[1-ill].Detail, "avoided")
				assert.Equal(t, 1, strings.Count(log.String(), "device is avoided"))
			})
		}
	}
}

// TestADeviceThatIsFilledLater lets others take the memory of an opened GPU.
func TestADeviceThatIsFilledLater(t *testing.T) {
	for ill := range 2 {
		gpus := newScripted(backend.CUDA, 2)
		gpus.taking = func(ordinal int) error {
			if ordinal == ill {
				return sched.ErrNoMemory
			}
			return nil
		}
		b, _ := illBench(t, gpus, FallbackGPU)
		for range 6 {
			_, err := b.start(t, 4, any1()).Wait(soon(t))
			require.NoError(t, err)
		}
		opt := any1()
		opt.Device = ill
		_, err := b.start(t, 1, opt).Wait(soon(t))
		require.ErrorIs(t, err, ErrDeviceMemory, "a job that names its device stays")
	}
}

// TestWithoutAFallback fails the jobs that find out, and no later one.
func TestWithoutAFallback(t *testing.T) {
	gpus := newScripted(backend.CUDA, 2)
	gpus.taking = func(ordinal int) error {
		if ordinal == 0 {
			return sched.ErrNoMemory
		}
		return nil
	}
	b, _ := illBench(t, gpus, FallbackNone)
	_, err := b.start(t, 1, any1()).Wait(soon(t))
	require.ErrorIs(t, err, ErrDeviceMemory)
	for range 5 {
		_, err := b.start(t, 1, any1()).Wait(soon(t))
		require.NoError(t, err)
	}
}

// TestNoDeviceCanBeOpened tells why the first could not.
func TestNoDeviceCanBeOpened(t *testing.T) {
	gpus := newScripted(backend.CUDA, 2)
	gpus.refusing = func(ordinal int) error { return fmt.Errorf("%w: reason %d", ErrDevice, ordinal) }
	e, err := New(Config{Providers: []backend.Provider{gpus, newScripted(backend.CPU, 1)}})
	require.NoError(t, err)
	defer func() { assert.NoError(t, e.Close()) }()
	_, err = e.OpenSRS(t.Context(), goldenCase(t, "two").Params, SRSOptions{})
	require.ErrorIs(t, err, ErrDevice)
	assert.ErrorContains(t, err, "reason 0")
}

// TestDevicesThatTurnOutToBeUnusable opens GPUs whose kernels cannot be loaded:
// they are listed with the reason, the other GPU is used, and if there is none
// the CPU, of which one warning tells.
func TestDevicesThatTurnOutToBeUnusable(t *testing.T) {
	for name, test := range map[string]struct {
		ill  []int
		done int // device that proves
	}{
		"one":  {[]int{0}, 1},
		"both": {[]int{0, 1}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			gpus := newScripted(backend.CUDA, 2)
			var asked atomic.Int64
			gpus.refusing = func(ordinal int) error {
				if ordinal >= len(test.ill) {
					return nil
				}
				asked.Add(1)
				return &backend.UnusableError{Err: fmt.Errorf("no kernel image for this device")}
			}
			b, log := illBench(t, gpus, FallbackGPU)
			for range 3 {
				_, err := b.start(t, 2, any1()).Wait(soon(t))
				require.NoError(t, err)
			}
			assert.EqualValues(t, 6, b.Metrics().Devices[test.done].Outcomes[OutcomeDone])
			for _, ill := range test.ill {
				assert.Equal(t, "no kernel image for this device", b.Devices()[ill].Unusable)
				opt := any1()
				opt.Device = ill
				_, err := b.Start(t.Context(), b.set, []Partition{b.part}, opt)
				require.ErrorIs(t, err, ErrNoDevice)
			}
			assert.EqualValues(t, len(test.ill), asked.Load(), "each is asked once")
			wantCPU := 0
			if test.done == 2 {
				wantCPU = 1
			}
			assert.Equal(t, wantCPU, strings.Count(log.String(), "proofs are made on the CPU"))
		})
	}
}

// TestAvoidingDoesNotGoByTheWallClock: a clock that is set would end it at once,
// or not for years.
func TestAvoidingDoesNotGoByTheWallClock(t *testing.T) {
	b, _ := illBench(t, newScripted(backend.CUDA, 1), FallbackGPU)
	b.all()[0].avoid(errScripted)
	assert.True(t, b.all()[0].avoided())
	assert.Contains(t, b.all()[0].avoidance.Load().until.String(), " m=+", "a monotonic reading")
}

// TestAProviderThatIsNotReady has no GPU when the engine is made, and some later:
// until then the CPU proves, then they do, with the number of workers set
// meanwhile. A provider without devices for good is not asked again.
func TestAProviderThatIsNotReady(t *testing.T) {
	for name, test := range map[string]struct {
		reason error
		later  bool
	}{
		"not ready": {fmt.Errorf("%w: cuInit: 802", backend.ErrNotReady), true},
		"none":      {fmt.Errorf("%w: no driver", ErrNoDevice), false},
	} {
		t.Run(name, func(t *testing.T) {
			gpus, log := newScripted(backend.CUDA, 0), &lockedLog{}
			gpus.listErr = test.reason
			b := newBench(t, Config{
				Providers: []backend.Provider{gpus, newScripted(backend.CPU, 1)},
				Log:       slog.New(slog.NewTextHandler(log, nil)),
			})
			assert.Equal(t, test.later, strings.Contains(log.String(), "level=WARN"), log.String())
			assert.Contains(t, b.GPUReason(), test.reason.Error())
			prove := func() {
				_, err := b.start(t, 1, any1()).Wait(soon(t))
				require.NoError(t, err)
			}
			prove()
			require.NoError(t, b.SetWorkers(2))
			gpus.infos, gpus.listErr = newScripted(backend.CUDA, 2).infos, nil
			require.Len(t, b.Devices(), 1, "it is not asked at once")
			b.asking.Lock()
			b.asked = b.asked.Add(-askAgainAfter)
			b.asking.Unlock()
			prove()
			devices, done := b.Devices(), b.Metrics().Devices
			if !test.later {
				assert.Len(t, devices, 1)
				assert.EqualValues(t, 2, done[0].Outcomes[OutcomeDone])
				return
			}
			require.Len(t, devices, 3)
			assert.Equal(t, backend.CPU, devices[0].Backend, "indices stay")
			assert.EqualValues(t, 1, done[0].Outcomes[OutcomeDone])
			assert.EqualValues(t, 1, done[1].Outcomes[OutcomeDone]+done[2].Outcomes[OutcomeDone])
			assert.Equal(t, 2, b.all()[1].target)
			assert.Empty(t, b.GPUReason())
		})
	}
}
