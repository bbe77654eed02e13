package engine

import (
	"bytes"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/engine/backend"
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

// gone is what a GPU of the scripted kind says once it is lost for good.
func gone(ordinal int) error {
	return &backend.GoneError{Err: fmt.Errorf("gpu%d: restart the process: %w", ordinal, errScripted)}
}

func requireGone(t *testing.T, err error) {
	t.Helper()
	if !assertGone(t, err) {
		t.FailNow()
	}
}

// assertGone is requireGone for any goroutine.
func assertGone(t *testing.T, err error) bool {
	t.Helper()
	var gone *backend.GoneError
	return assert.ErrorAs(t, err, &gone) && assert.ErrorIs(t, err, ErrDeviceLost) &&
		assert.ErrorContains(t, err, "restart the process") && assert.NotErrorIs(t, err, ErrNoDevice)
}

// TestGoneDevice proves on GPUs of which some are lost for good at their first
// partition. Devices are gpu 0, gpu 1, and the CPU.
func TestGoneDevice(t *testing.T) {
	for name, test := range map[string]goneCase{
		"another GPU takes over":                       {FallbackGPU, []int{0}, 1, true},
		"another GPU, before the CPU":                  {FallbackCPU, []int{0}, 1, true},
		"no fallback: the job fails, not the next one": {FallbackNone, []int{0}, 1, false},
		"no GPU is left":                               {FallbackGPU, []int{0, 1}, -1, false},
		"no GPU is left, and no fallback":              {FallbackNone, []int{0, 1}, -1, false},
		"the CPU after the last GPU":                   {FallbackCPU, []int{0, 1}, 2, true},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGoneBench(t, test)
			t.Run("the job that finds out", g.findOut)
			taken := g.taken()
			t.Run("what the engine tells of them", g.told)
			t.Run("a job that names one", g.named)
			t.Run("later jobs", g.later)
			assert.Equal(t, taken, g.taken(), "partitions that lost GPUs take")
			for i := range g.all() {
				assert.Zero(t, g.all()[i].backlog.Load(), "backlog of device %d", i)
			}
		})
	}
}

type goneCase struct {
	fallback Fallback
	lost     []int // GPUs
	done     int   // device that proofs come from afterwards; -1: jobs fail
	first    bool  // the job that finds out succeeds too
}

// goneBench is an engine whose GPUs of lost are lost at their first partition.
type goneBench struct {
	*bench
	goneCase
	log   *lockedLog
	count [2]atomic.Int64 // partitions that each GPU has taken
}

func newGoneBench(t *testing.T, test goneCase) *goneBench {
	g := &goneBench{goneCase: test, log: &lockedLog{}}
	gpus, processor := newScripted(backend.CUDA, len(g.count)), newScripted(backend.CPU, 1)
	gpus.taking = func(ordinal int) error {
		g.count[ordinal].Add(1)
		if slices.Contains(g.lost, ordinal) {
			return gone(ordinal)
		}
		return nil
	}
	g.bench = newBench(t, Config{
		Providers: []backend.Provider{gpus, processor}, Fallback: test.fallback,
		Log: slog.New(slog.NewTextHandler(g.log, nil)),
	})
	return g
}

// taken is how many partitions each lost GPU has taken.
func (g *goneBench) taken() (n []int64) {
	for _, lost := range g.lost {
		n = append(n, g.count[lost].Load())
	}
	return n
}

// findOut starts jobs until all are lost: the first goes to gpu 0, and without
// a fallback each GPU is found out by a job of its own.
func (g *goneBench) findOut(t *testing.T) {
	jobs := 1
	if g.fallback == FallbackNone {
		jobs = len(g.lost)
	}
	for range jobs {
		_, err := g.start(t, 1, any1()).Wait(soon(t))
		if g.first {
			require.NoError(t, err)
		} else {
			requireGone(t, err)
		}
	}
}

func (g *goneBench) told(t *testing.T) {
	for _, lost := range g.lost {
		assert.Contains(t, g.Devices()[lost].Unusable, "restart the process")
		assert.Contains(t, g.Metrics().Devices[lost].Unusable, "restart the process")
		line := fmt.Sprintf("level=ERROR msg=\"device is gone until the process is restarted\" device=\"cuda device\" error=\"gpu%d", lost)
		assert.Equal(t, 1, strings.Count(g.log.String(), line))
	}
	assert.Equal(t, len(g.lost) == len(g.count), strings.Contains(g.GPUReason(), "restart the process"))
}

func (g *goneBench) named(t *testing.T) {
	for _, lost := range g.lost {
		opt := any1()
		opt.Device = lost
		opt.SkipSelfCheck = true
		_, err := g.Prove(soon(t), g.set, g.part, opt)
		requireGone(t, err)
	}
}

func (g *goneBench) later(t *testing.T) {
	const jobs = 4
	var all sync.WaitGroup
	for range jobs {
		all.Go(func() {
			opt := any1()
			opt.SkipSelfCheck = true
			_, err := g.Prove(soon(t), g.set, g.part, opt)
			assert.Equal(t, g.done >= 0, err == nil, "%v", err)
			if err != nil {
				assertGone(t, err)
			}
		})
	}
	all.Wait()
	if g.done >= 0 {
		assert.GreaterOrEqual(t, g.Metrics().Devices[g.done].Outcomes[OutcomeDone], uint64(jobs))
	}
}

func TestJobThatNamesAGoneDeviceIsNotMoved(t *testing.T) {
	gpus, processor := newScripted(backend.CUDA, 2), newScripted(backend.CPU, 1)
	gpus.taking = gone
	b := newBench(t, Config{Providers: []backend.Provider{gpus, processor}, Fallback: FallbackCPU})
	opt := any1()
	opt.Device = 1
	_, err := b.start(t, 1, opt).Wait(soon(t))
	requireGone(t, err)
	assert.Zero(t, b.Metrics().Devices[1].Moved)
	assert.EqualValues(t, 1, b.Metrics().Devices[1].Outcomes[OutcomeLost])
}

func TestPartitionsThatWaitForAGoneDeviceMoveOn(t *testing.T) {
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
}

// A GPU that cannot be opened, since another engine of the process has lost it,
// is asked once.
func TestGoneDeviceThatCannotBeOpened(t *testing.T) {
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
}
