package engine

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/engine/backend"
	"github.com/libcuzk/libcuzk/internal/sched"
)

// lockedLog is a log that many goroutines write.
type lockedLog struct {
	mu   sync.Mutex
	text bytes.Buffer // guarded by mu
}

func (l *lockedLog) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(line)
}

func (l *lockedLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// gone is what a card of the scripted kind says once it is lost for good.
func gone(ordinal int) error {
	return &backend.GoneError{Err: fmt.Errorf("gpu%d: restart the process: %w", ordinal, errScripted)}
}

func requireGone(t *testing.T, err error) {
	t.Helper()
	var gone *backend.GoneError
	require.ErrorAs(t, err, &gone)
	require.ErrorIs(t, err, sched.ErrDeviceLost)
	require.ErrorContains(t, err, "restart the process")
	assert.NotErrorIs(t, err, ErrNoDevice)
}

// TestGoneDevice proves on devices that are lost for good at their first task.
// Devices are gpu 0, gpu 1, and the CPU.
func TestGoneDevice(t *testing.T) {
	for name, test := range map[string]struct {
		fallback Fallback
		lost     []int // GPUs
		done     int   // device that proofs come from afterwards; -1: jobs fail
		first    bool  // the job that finds out succeeds too
	}{
		"another GPU takes over":                       {FallbackGPU, []int{0}, 1, true},
		"another GPU, before the CPU":                  {FallbackCPU, []int{0}, 1, true},
		"no fallback: the job fails, not the next one": {FallbackNone, []int{0}, 1, false},
		"no GPU is left":                               {FallbackGPU, []int{0, 1}, -1, false},
		"no GPU is left, and no fallback":              {FallbackNone, []int{0, 1}, -1, false},
		"the CPU after the last GPU":                   {FallbackCPU, []int{0, 1}, 2, true},
	} {
		t.Run(name, func(t *testing.T) {
			gpus, processor := newScripted(backend.CUDA, 2), newScripted(backend.CPU, 1)
			log := &lockedLog{}
			b := newBench(t, Config{
				Providers: []backend.Provider{gpus, processor}, Fallback: test.fallback,
				Log: slog.New(slog.NewTextHandler(log, nil)),
			})
			var tasks [2]atomic.Int64
			gpus.taking = func(ordinal int) error {
				tasks[ordinal].Add(1)
				for _, lost := range test.lost {
					if lost == ordinal {
						return gone(ordinal)
					}
				}
				return nil
			}
			// The first goes to gpu 0; without a fallback each card is found out by a job of its own.
			finding := 1
			if test.fallback == FallbackNone {
				finding = len(test.lost)
			}
			for range finding {
				_, err := b.start(t, 1, any1()).Wait(soon(t))
				if test.first {
					require.NoError(t, err)
				} else {
					requireGone(t, err)
				}
			}
			before := [2]int64{tasks[0].Load(), tasks[1].Load()}
			list, m := b.Devices(), b.Metrics().Devices
			for _, lost := range test.lost {
				assert.Contains(t, list[lost].Unusable, "restart the process")
				assert.Contains(t, m[lost].Unusable, "restart the process")
				assert.Equal(t, 1, strings.Count(log.String(), fmt.Sprintf("level=ERROR msg=\"device is gone until the process is restarted\" device=\"cuda device\" error=\"gpu%d", lost)))
				named := any1()
				named.Device = lost
				named.SkipSelfCheck = true
				_, err := b.Prove(soon(t), b.set, b.part, named)
				requireGone(t, err)
			}
			const jobs = 4
			var all sync.WaitGroup
			for range jobs {
				all.Go(func() {
					opt := any1()
					opt.SkipSelfCheck = true
					if _, err := b.Prove(soon(t), b.set, b.part, opt); test.done < 0 {
						requireGone(t, err)
					} else {
						assert.NoError(t, err)
					}
				})
			}
			all.Wait()
			if test.done >= 0 {
				assert.GreaterOrEqual(t, b.Metrics().Devices[test.done].Outcomes[OutcomeDone], uint64(jobs))
			}
			for _, lost := range test.lost {
				assert.Equal(t, before[lost], tasks[lost].Load(), "gpu%d gets no more tasks", lost)
			}
			assert.Equal(t, len(test.lost) == 2, strings.Contains(b.GPUReason(), "restart the process"))
			for i := range b.devices {
				assert.Zero(t, b.devices[i].load.Load(), "load of device %d", i)
			}
		})
	}

	t.Run("a job that names the device is not moved", func(t *testing.T) {
		gpus, processor := newScripted(backend.CUDA, 2), newScripted(backend.CPU, 1)
		gpus.taking = gone
		b := newBench(t, Config{Providers: []backend.Provider{gpus, processor}, Fallback: FallbackCPU})
		opt := any1()
		opt.Device = 1
		_, err := b.start(t, 1, opt).Wait(soon(t))
		requireGone(t, err)
		assert.Zero(t, b.Metrics().Devices[1].Moved)
		assert.EqualValues(t, 1, b.Metrics().Devices[1].Outcomes[OutcomeLost])
	})

	t.Run("partitions that wait for the device move on too", func(t *testing.T) {
		gpus, processor := newScripted(backend.CUDA, 1), newScripted(backend.CPU, 1)
		hold := make(chan struct{})
		gpus.taking = func(ordinal int) error { <-hold; return gone(ordinal) }
		b := newBench(t, Config{Providers: []backend.Provider{gpus, processor}, Fallback: FallbackCPU, Workers: 2})
		const partitions = 6
		job := b.start(t, partitions, any1())
		close(hold)
		_, err := job.Wait(soon(t))
		require.NoError(t, err)
		m := b.Metrics().Devices
		assert.EqualValues(t, partitions, m[0].Moved)
		assert.EqualValues(t, partitions, m[1].Outcomes[OutcomeDone])
	})

	t.Run("a card that cannot be opened, since another engine has lost it", func(t *testing.T) {
		for fallback, text := range map[Fallback]string{FallbackGPU: "restart the process", FallbackCPU: ""} {
			gpus, processor := newScripted(backend.CUDA, 1), newScripted(backend.CPU, 1)
			var asked atomic.Int64
			gpus.opening = func() error { asked.Add(1); return gone(0) }
			e, err := New(Config{Providers: []backend.Provider{gpus, processor}, Fallback: fallback})
			require.NoError(t, err)
			for range 3 {
				set, err := e.OpenSRS(t.Context(), goldenCase(t, "two").Params, SRSOptions{})
				if text != "" {
					requireGone(t, err)
				} else {
					require.NoError(t, err)
					require.NoError(t, set.Release())
				}
			}
			assert.EqualValues(t, 1, asked.Load(), "it is asked once")
			memory, err := e.AllocHost(1 << 12)
			require.NoError(t, err)
			memory[0] = 1
			assert.EqualValues(t, 1, asked.Load())
			require.NoError(t, e.FreeHost(memory))
			require.NoError(t, e.Close())
		}
	})
}
