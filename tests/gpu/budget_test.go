package gpu

import (
	"errors"
	"flag"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/cuda"
	"github.com/libcuzk/libcuzk/engine"
	"github.com/libcuzk/libcuzk/engine/timeline"
	"github.com/libcuzk/libcuzk/internal/circuits/ondevice"
	"github.com/libcuzk/libcuzk/internal/circuits/synth"
	"github.com/libcuzk/libcuzk/internal/launch"
	"github.com/libcuzk/libcuzk/internal/vram"
	"github.com/libcuzk/libcuzk/tests/cudasim"
)

var timelines = flag.String("timelines", "", "folder in which TestBudgets records a timeline of each size, as 22.json")

// budgeted is a size of circuit and how much of it is proved in a small budget.
type budgeted struct {
	log        int   // of the domain
	partitions int   // by as many callers as there are workers
	beside     []int // logarithms of smaller domains that are proved meanwhile, by a caller each
}

// budgetWorkers is the default number of workers.
const budgetWorkers = 3

const (
	mib         = 1 << 20
	porepInputs = 328 // of a 32 GiB PoRep's partition
)

// TestBudgets proves in a share of a 16 GiB card that corresponds to the size:
// 16 GiB are for a domain of 2^27. The parameter set does not fit beside a job,
// so its points cross the bus while the kernels run.
func TestBudgets(t *testing.T) {
	for _, c := range pick(
		[]budgeted{{22, 300, nil}, {24, 60, []int{14, 18}}},
		[]budgeted{{7, 12, nil}, {9, 6, []int{3, 5}}},
	) {
		t.Run(fmt.Sprintf("2^%d", c.log), c.run)
	}
}

func (c budgeted) run(t *testing.T) {
	if !onCard() {
		cudasim.New(t, cudasim.Config{}) // makes the parameters
	}
	start := time.Now()
	large := madeOnCard(t, synth.PoRepLike(1<<c.log, min(porepInputs, 1<<c.log/4)), 1)
	var beside []*madeCircuit
	for i, log := range c.beside {
		beside = append(beside, madeOnCard(t, synth.PoRepLike(1<<log, 3), uint64(2+i)))
	}
	t.Logf("circuits and parameters: %.1f s", time.Since(start).Seconds())

	start = time.Now()
	fixed, least := large.leastBudget(t)
	t.Logf("one job needs %d MiB beside the %d MiB of the context and fixed buffers; found in %.1f s",
		least/mib, fixed/mib, time.Since(start).Seconds())
	if t.Failed() {
		return
	}
	// The fixed parts of a job are about 0.2 GiB at any size.
	memory := pick(uint64(16<<30)>>(27-c.log)+200*mib, least)
	require.LessOrEqual(t, least, memory, "one job fits the share")
	t.Run("three workers", func(t *testing.T) { c.prove(t, fixed+memory, large, beside) })
}

// madeCircuit is a circuit whose parameters lie in host memory.
type madeCircuit struct {
	*synth.Circuit
	set *ondevice.Set
}

// madeOnCard makes a circuit and, in a context that is gone when it returns,
// its parameters.
func madeOnCard(t *testing.T, shape synth.Shape, seed uint64) *madeCircuit {
	t.Helper()
	c, err := synth.New(shape, seed)
	require.NoError(t, err)
	card, err := ondevice.OpenFirst()
	require.NoError(t, err)
	set, err := card.Points(t.Context(), c.Exponents())
	require.NoError(t, errors.Join(err, card.Close()))
	t.Cleanup(set.Free)
	return &madeCircuit{c, set}
}

// add hands the parameters to an engine.
func (c *madeCircuit) add(r *rig) (*circuit, error) {
	params, err := c.set.Params()
	require.NoError(r.t, err)
	srs, err := r.AddSRS(r.t.Context(), params)
	if err != nil {
		return nil, err
	}
	return &circuit{c.Circuit, srs, func() { assert.NoError(r.t, srs.Release()) }}, nil
}

// leastBudget finds the bytes that one job of the circuit needs beside the
// engine's fixed parts: in so much it is proved, and in 1 MiB less refused.
func (c *madeCircuit) leastBudget(t *testing.T) (fixed, job uint64) {
	try := func(t *testing.T, bytes uint64) error {
		r := open(t, cuda.Options{BudgetBytes: bytes})
		added, err := c.add(r)
		if err != nil {
			t.Logf("a budget of %d bytes: %v", bytes, err)
			return err
		}
		defer added.free()
		p := added.partition(0)
		assert.Equal(t, added.ExpectedProof(p.R, p.S), r.prove(added.srs, p, engine.AnyDevice))
		return nil
	}
	var smallest uint64 // job of all
	t.Run("not even the context fits", func(t *testing.T) {
		err := try(t, mib)
		require.ErrorIs(t, err, cuda.ErrBudget)
		numbers := regexp.MustCompile(`fixed buffers take (\d+) bytes and a job at least (\d+) more`).FindStringSubmatch(err.Error())
		require.Len(t, numbers, 3, "the error names both: %v", err)
		fixed, err = strconv.ParseUint(numbers[1], 10, 64)
		require.NoError(t, err)
		smallest, err = strconv.ParseUint(numbers[2], 10, 64)
		require.NoError(t, err)
	})
	var tooLarge *vram.TooLargeError
	t.Run("the job does not fit", func(t *testing.T) {
		require.ErrorAs(t, try(t, fixed+smallest), &tooLarge)
		job = tooLarge.NeedBytes + fixed + smallest - tooLarge.BudgetBytes - fixed
	})
	if t.Failed() {
		return fixed, job
	}
	t.Run("1 MiB is missing", func(t *testing.T) { require.ErrorAs(t, try(t, fixed+job-mib), &tooLarge) })
	t.Run("the job just fits", func(t *testing.T) { require.NoError(t, try(t, fixed+job)) })
	return fixed, job
}

// prove proves all partitions within a budget and looks at what the card holds
// meanwhile.
func (c budgeted) prove(t *testing.T, budget uint64, large *madeCircuit, beside []*madeCircuit) {
	r := open(t, cuda.Options{BudgetBytes: budget})
	require.NoError(t, r.SetWorkers(budgetWorkers))
	circuits := make([]*circuit, 0, 1+len(beside))
	for _, m := range append([]*madeCircuit{large}, beside...) {
		added, err := m.add(r)
		require.NoError(t, err)
		defer added.free()
		circuits = append(circuits, added)
	}
	if *timelines != "" {
		require.NoError(t, timeline.Start(filepath.Join(*timelines, fmt.Sprintf("%d.json", c.log))))
		defer func() { require.NoError(t, timeline.Stop()) }()
	}
	watch := r.watchMemory()
	start := time.Now()
	others := r.proveMixed(circuits, c.partitions)
	took := time.Since(start)
	peak := watch()

	m := r.Metrics().Devices[0]
	assert.EqualValues(t, budget, m.BudgetBytes)
	assert.LessOrEqual(t, peak, budget, "bytes of device memory")
	assert.Equal(t, map[engine.Outcome]uint64{engine.OutcomeDone: uint64(c.partitions + others)}, m.Outcomes)
	assert.Zero(t, m.Retries+m.Resets)
	crossed := uint64(len(large.Assignment().A)+len(large.Assignment().B))*launch.FrBytes +
		uint64(len(large.set.Points.H))*launch.G1.AffineBytes()
	assert.GreaterOrEqual(t, m.UploadedBytes, uint64(c.partitions)*crossed, "rows and the points of h crossed the bus for each partition")
	assert.GreaterOrEqual(t, m.Streamed, uint64(c.partitions), "no set of that size was on the card")
	t.Logf("2^%d: %d partitions and %d smaller ones in %.1f s, %.1f ms each; budget %d MiB, peak %d MiB; "+
		"%.1f GB uploaded, %d partitions streamed, %d MiB of sets in host memory; the set has %d MiB",
		c.log, c.partitions, others, took.Seconds(), took.Seconds()*1e3/float64(c.partitions), budget/mib, peak/mib,
		float64(m.UploadedBytes)/1e9, m.Streamed, m.HostSetBytes/mib, large.setBytes()/mib)
}

// setBytes is what a set takes on a card.
func (c *madeCircuit) setBytes() uint64 {
	p := &c.set.Points
	return uint64(len(p.H)+len(p.L)+len(p.A)+len(p.BG1))*launch.G1.AffineBytes() + uint64(len(p.BG2))*launch.G2.AffineBytes()
}

// watchMemory samples what the first device holds until stop is called, which
// returns the most. Memory stays mapped for longer than a sample takes; more of
// them would tell in the lock holds.
func (r *rig) watchMemory() (stop func() uint64) {
	const every = 20 * time.Millisecond
	done, most := make(chan struct{}), make(chan uint64)
	go func() {
		var peak uint64
		for ticker := time.NewTicker(every); ; {
			m := r.Metrics().Devices[0]
			peak = max(peak, m.FixedBytes+m.MappedBytes)
			select {
			case <-ticker.C:
			case <-done:
				ticker.Stop()
				most <- peak
				return
			}
		}
	}()
	return func() uint64 {
		close(done)
		return <-most
	}
}

// proveMixed proves n partitions of the first circuit, by a caller a worker, and
// until they are done one after the other of each other circuit; it says how
// many those were. Every proof is the one that the trapdoor gives.
func (r *rig) proveMixed(circuits []*circuit, n int) (others int) {
	var next, more atomic.Int64
	var callers, background sync.WaitGroup
	var ended atomic.Bool
	prove := func(c *circuit, step uint64) bool {
		p := c.partition(step)
		proof, err := r.Prove(r.t.Context(), c.srs, p, engine.DefaultProveOptions())
		return assert.NoError(r.t, err) && assert.Equal(r.t, c.ExpectedProof(p.R, p.S), proof)
	}
	for _, c := range circuits[1:] {
		background.Go(func() {
			for step := uint64(0); (step == 0 || !ended.Load()) && prove(c, step); step++ {
				more.Add(1)
			}
		})
	}
	for range budgetWorkers {
		callers.Go(func() {
			for i := next.Add(1); i <= int64(n) && prove(circuits[0], uint64(i)); i = next.Add(1) {
			}
		})
	}
	callers.Wait()
	ended.Store(true)
	background.Wait()
	return int(more.Load())
}
