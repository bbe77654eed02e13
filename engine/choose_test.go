package engine

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/engine/backend"
)

// TestFallback proves on devices of which some are lost at every try. Devices
// are gpu 0, gpu 1, and the CPU.
func TestFallback(t *testing.T) {
	all, first := func(int) bool { return true }, func(ordinal int) bool { return ordinal == 0 }
	for name, test := range map[string]struct {
		fallback Fallback
		losing   func(int) bool
		device   int
		waitRows bool // the caller waits for its rows, and so gets them back
		moved    []uint64
		done     int // device that the proof comes from; -1: it fails
	}{
		"another GPU":                           {FallbackGPU, first, AnyDevice, false, []uint64{1, 0, 0}, 1},
		"no GPU is left":                        {FallbackGPU, all, AnyDevice, false, []uint64{1, 0, 0}, -1},
		"the CPU after the last GPU":            {FallbackCPU, all, AnyDevice, false, []uint64{1, 1, 0}, 2},
		"another GPU before the CPU":            {FallbackCPU, first, AnyDevice, false, []uint64{1, 0, 0}, 1},
		"none":                                  {FallbackNone, first, AnyDevice, false, []uint64{0, 0, 0}, -1},
		"a job that names its device stays":     {FallbackCPU, first, 0, false, []uint64{0, 0, 0}, -1},
		"a job whose rows went back is not run": {FallbackCPU, first, AnyDevice, true, []uint64{0, 0, 0}, -1},
	} {
		t.Run(name, func(t *testing.T) {
			gpus, processor := newScripted(backend.CUDA, 2), newScripted(backend.CPU, 1)
			b := newBench(t, Config{Providers: []backend.Provider{gpus, processor}, Fallback: test.fallback})
			var job atomic.Pointer[Job]
			started := make(chan struct{})
			gpus.losing = func(ordinal int) bool {
				if !test.losing(ordinal) {
					return false
				}
				if test.waitRows {
					<-started
					assert.NoError(t, job.Load().WaitRows(soon(t)))
				}
				return true
			}
			opt := any1()
			opt.Device = test.device
			job.Store(b.start(t, 1, opt))
			close(started)
			_, err := job.Load().Wait(soon(t))
			m := b.Metrics().Devices
			if test.done >= 0 {
				require.NoError(t, err)
				assert.EqualValues(t, 1, m[test.done].Outcomes[OutcomeDone])
			} else {
				require.ErrorIs(t, err, ErrDeviceLost)
			}
			for i, d := range m {
				assert.Equal(t, test.moved[i], d.Moved, "moved away from device %d", i)
				assert.Zero(t, b.all()[i].backlog.Load(), "backlog of device %d", i)
			}
			assert.NoError(t, job.Load().WaitRows(soon(t)))
		})
	}
}

func TestErrorAfterAMoveTellsOfTheLoss(t *testing.T) {
	gpus, processor := newScripted(backend.CUDA, 1), newScripted(backend.CPU, 1)
	gpus.losing = func(int) bool { return true }
	processor.script = func(context.Context, *backend.Partition) error { return ErrOption }
	b := newBench(t, Config{Providers: []backend.Provider{gpus, processor}, Fallback: FallbackCPU})
	_, err := b.start(t, 1, any1()).Wait(soon(t))
	require.ErrorIs(t, err, ErrOption)
	assert.NotErrorIs(t, err, ErrDeviceLost)
	assert.ErrorContains(t, err, "moved here after: device is lost until it is reset: scripted failure")
}

// A device that loses partitions gets no more of them, until one is proved there.
func TestDeviceThatLosesPartitionsIsAvoided(t *testing.T) {
	gpus := newScripted(backend.CUDA, 2)
	var losing atomic.Bool
	losing.Store(true)
	gpus.losing = func(ordinal int) bool { return losing.Load() && ordinal == 0 }
	b := newBench(t, Config{Providers: []backend.Provider{gpus}})
	prove := func(device int) {
		opt := any1()
		opt.Device = device
		_, err := b.start(t, 1, opt).Wait(soon(t))
		require.NoError(t, err)
	}
	done := func() uint64 { return b.Metrics().Devices[0].Outcomes[OutcomeDone] }
	prove(AnyDevice) // moved
	losing.Store(false)
	prove(AnyDevice)
	assert.Zero(t, done(), "the second went straight to the other device")
	prove(0)
	prove(AnyDevice)
	assert.EqualValues(t, 2, done())
	assert.EqualValues(t, 1, b.Metrics().Devices[0].Moved)
}

func TestCancelledWhileItMoves(t *testing.T) {
	gpus := newScripted(backend.CUDA, 2)
	hold := make(chan struct{})
	gpus.losing = func(ordinal int) bool {
		if ordinal == 0 {
			<-hold
		}
		return ordinal == 0
	}
	gpus.script = untilCancelled // keeps device 1's only worker busy
	b := newBench(t, Config{Providers: []backend.Provider{gpus}, Workers: 1})
	opt := any1()
	opt.Device = 1
	busy := b.start(t, 1, opt)
	<-gpus.begun
	moving := b.start(t, 1, any1())
	<-gpus.begun
	go moving.Cancel() // at some time while it moves
	close(hold)
	_, err := moving.Wait(soon(t))
	require.ErrorIs(t, err, ErrCancelled)
	busy.Cancel()
	_, err = busy.Wait(soon(t))
	require.ErrorIs(t, err, ErrCancelled)
	for _, d := range b.all() {
		assert.Zero(t, d.backlog.Load())
	}
}

func TestFallbackThatIsNoneOfTheThree(t *testing.T) {
	_, err := New(Config{Providers: []backend.Provider{newScripted(backend.CPU, 1)}, Fallback: 3})
	require.ErrorIs(t, err, ErrOption)
}
