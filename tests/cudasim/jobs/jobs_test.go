//go:build linux && (amd64 || arm64)

// Package jobs runs the engine on simulated devices: many jobs at once, orders
// of execution that seeds choose, cancels in between.
package jobs

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/cuda"
	"github.com/libcuzk/libcuzk/engine"
	"github.com/libcuzk/libcuzk/engine/backend"
	"github.com/libcuzk/libcuzk/internal/circuits/gv"
	"github.com/libcuzk/libcuzk/tests/cudasim"
	"github.com/libcuzk/libcuzk/tests/golden"
)

// SeedsVariable set to n runs n seeds instead of those below.
const SeedsVariable = "CUZK_SCHEDULES"

const defaultSeeds = 3

// patience is how long a job may take before it counts as hanging; a batch of
// proofs takes a second, on a busy machine many.
const patience = 10 * time.Minute

func seeds(t *testing.T) int {
	t.Helper()
	text := os.Getenv(SeedsVariable)
	if text == "" && testing.Short() {
		return 1
	}
	if text == "" {
		return defaultSeeds
	}
	n, err := strconv.Atoi(text)
	require.NoError(t, err, SeedsVariable)
	return n
}

// known is a golden case with the proofs that bellperson made.
type known struct {
	set   *engine.SRS
	parts []engine.Partition
	want  []engine.Proof
}

func newEngine(t *testing.T, o cuda.Options, workers int) *engine.Engine {
	t.Helper()
	e, err := engine.New(engine.Config{Providers: []backend.Provider{cuda.NewProvider(o)}, Workers: workers})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	return e
}

func load(t *testing.T, e *engine.Engine, c golden.Case) known {
	t.Helper()
	set, err := e.OpenSRS(t.Context(), c.Params, engine.SRSOptions{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, set.Release()) })
	k := known{set: set}
	for _, path := range c.Witnesses {
		f, err := gv.Read(path)
		require.NoError(t, err)
		k.parts = append(k.parts, engine.Partition{Assignment: &f.Assignment, R: f.R, S: f.S})
		k.want = append(k.want, *f.Proof)
	}
	return k
}

// schedule is one random run: callers start batches of random cases, wait for
// some, cancel others, and compare every proof they get.
func schedule(t *testing.T, e *engine.Engine, cases []known, seed uint64) {
	const callers, rounds = 4, 3
	var all sync.WaitGroup
	for caller := range uint64(callers) {
		all.Go(func() {
			random := rand.New(rand.NewPCG(seed, caller))
			for range rounds {
				oneJob(t, e, cases[random.IntN(len(cases))], random)
			}
		})
	}
	all.Wait()
}

func oneJob(t *testing.T, e *engine.Engine, k known, random *rand.Rand) {
	ctx, stop := context.WithTimeout(context.Background(), patience)
	defer stop()
	options := engine.DefaultProveOptions()
	options.Priority = []engine.Priority{engine.PriorityLow, engine.PriorityNormal, engine.PriorityCritical}[random.IntN(3)]
	job, err := e.Start(ctx, k.set, k.parts, options)
	if !assert.NoError(t, err) {
		return
	}
	cancelled := random.IntN(4) == 0
	if cancelled {
		time.Sleep(time.Duration(random.IntN(20)) * time.Millisecond)
		job.Cancel()
	}
	proofs, err := job.Wait(ctx)
	if cancelled && errors.Is(err, engine.ErrCancelled) {
		<-job.Done()
		return
	}
	if assert.NoError(t, err) {
		assert.Equal(t, k.want, proofs)
	}
}

// fixedMiB is what a context and its fixed buffers take of a device.
const fixedMiB = 536 + 42 + 4

func TestSchedules(t *testing.T) {
	for name, test := range map[string]struct {
		sim     cudasim.Config
		options cuda.Options
		workers int
	}{
		"three workers a device, two devices": {cudasim.Config{Devices: 2}, cuda.Options{}, 3},
		"five workers, memory for two jobs":   {cudasim.Config{}, cuda.Options{BudgetBytes: 750 << 20}, 5},
		"one worker":                          {cudasim.Config{}, cuda.Options{}, 1},
		"witnesses that go in rounds":         {cudasim.Config{}, cuda.Options{ListScalars: 100}, 3},
		"some sets stay, some are streamed":   {cudasim.Config{}, cuda.Options{BudgetBytes: (fixedMiB + 10) << 20}, 3},
		"all are streamed, two devices":       {cudasim.Config{Devices: 2}, cuda.Options{BudgetBytes: (fixedMiB + 6) << 20, ListScalars: 100}, 3},
	} {
		for seed := range uint64(seeds(t)) {
			t.Run(name+", seed "+strconv.FormatUint(seed+1, 10), func(t *testing.T) {
				test.sim.Seed, test.sim.Declared = seed+1, true
				sim := cudasim.New(t, test.sim)
				e := newEngine(t, test.options, test.workers)
				var cases []known
				for _, name := range []string{"one", "oneinp", "two", "zero", "mimc"} {
					c, err := golden.Named(name)
					require.NoError(t, err)
					cases = append(cases, load(t, e, c))
				}
				schedule(t, e, cases, seed)
				r := sim.Report()
				var streamed uint64
				for _, d := range e.Metrics().Devices {
					streamed += d.Streamed
				}
				t.Logf("%d partitions were streamed", streamed)
				if !strings.Contains(name, "some") { // there it depends on which come first
					assert.Equal(t, strings.Contains(name, "streamed"), streamed > 0)
				}
				assert.Empty(t, r.DeviceWide, "no job waits for the whole device")
				if budget := test.options.BudgetBytes; budget != 0 {
					assert.LessOrEqual(t, r.Devices[0].Peak, budget)
				}
			})
		}
	}
}

// TestUploadsRunBesideKernels looks at the timeline: while one job computes,
// the next one's inputs cross the bus.
func TestUploadsRunBesideKernels(t *testing.T) {
	sim := cudasim.New(t, cudasim.Config{Trace: true})
	e := newEngine(t, cuda.Options{}, 3)
	c, err := golden.Named("mimc")
	require.NoError(t, err)
	k := load(t, e, c)
	job, err := e.Start(t.Context(), k.set, append(k.parts, k.parts...), engine.DefaultProveOptions())
	require.NoError(t, err)
	_, err = job.Wait(t.Context())
	require.NoError(t, err)
	var uploads, kernels []cudasim.Operation
	for _, o := range sim.Report().Trace {
		switch {
		case strings.HasPrefix(o.Name, "upload"):
			uploads = append(uploads, o)
		case strings.HasPrefix(o.Name, "cuzk_msm"):
			kernels = append(kernels, o)
		}
	}
	beside := 0
	for _, u := range uploads {
		for _, k := range kernels {
			if k.StartNS <= u.StartNS && u.EndNS <= k.EndNS && k.Stream != u.Stream {
				beside++
				break
			}
		}
	}
	t.Logf("%d uploads, %d of them beside one of %d MSM kernels", len(uploads), beside, len(kernels))
	assert.Positive(t, beside)
}
