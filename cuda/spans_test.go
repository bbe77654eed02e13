package cuda

import (
	"encoding/json"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/cuda/driver"
	"github.com/libcuzk/libcuzk/cuda/internal/devcontext"
	"github.com/libcuzk/libcuzk/engine/backend"
	"github.com/libcuzk/libcuzk/engine/groth16"
	"github.com/libcuzk/libcuzk/engine/timeline"
	"github.com/libcuzk/libcuzk/internal/circuits/synth"
	"github.com/libcuzk/libcuzk/internal/sched"
	"github.com/libcuzk/libcuzk/tests/cudasim"
)

// TestTimelineOfTheCard proves with three workers while a timeline is recorded:
// kernels and copies are there by the card's clock, each job's stages in their
// order, and the proofs are what they are without.
func TestTimelineOfTheCard(t *testing.T) {
	p := makeProven(t, synth.PoRepLike(500, 9), 1)
	d, _ := open(t, Options{}, cudasim.Config{})
	require.NoError(t, d.Load(t.Context(), p.params))
	tracks := timeline.DeviceOf(backend.CUDA, d.card.Ordinal, d.card.Name)

	path := filepath.Join(t.TempDir(), "t.json")
	require.NoError(t, timeline.Start(path))
	const jobs = 3
	var group sync.WaitGroup
	for i := range jobs {
		group.Go(func() {
			got, err := d.Prove(t.Context(), &backend.Partition{
				Params: p.params, Assignment: p.circuit.Assignment(),
				RowsRead: func() {}, Stage: func(string, float64) {},
				Timeline: &timeline.Partition{Track: tracks.Track(timeline.Host, "worker"), Job: uint64(i + 1)},
			})
			if assert.NoError(t, err) {
				p.check(t, got)
			}
		})
	}
	group.Wait()
	require.NoError(t, timeline.Stop())

	spans := readSpans(t, path)
	for job := 1; job <= jobs; job++ {
		of := spans[job]
		for _, name := range []string{"staging", "copy", "ranks", "quotient: a, b, c", "quotient: h", "h: windows", "h: rest", "sum l", "sum b_g2"} {
			assert.NotEmpty(t, of[name], "job %d: %s", job, name)
		}
		if !t.Failed() {
			first := func(name string) float64 { return of[name][0] }
			assert.LessOrEqual(t, first("copy"), first("ranks"))
			assert.LessOrEqual(t, first("ranks"), first("quotient: a, b, c"))
			assert.LessOrEqual(t, first("quotient: a, b, c"), first("quotient: h"))
			assert.LessOrEqual(t, first("quotient: h"), first("h: windows"))
			assert.LessOrEqual(t, first("h: windows"), first("h: rest"))
		}
	}
}

// TestTimelineOfAFailedJob gives all its time stamps back.
func TestTimelineOfAFailedJob(t *testing.T) {
	p := makeProven(t, synth.PoRepLike(500, 9), 1)
	d, _ := open(t, Options{}, cudasim.Config{})
	require.NoError(t, d.Load(t.Context(), p.params))
	a := *p.circuit.Assignment()
	a.Aux = append(a.Aux[:0:0], a.Aux...)
	a.Aux[len(a.Aux)-1][3] = ^uint64(0)
	require.NoError(t, timeline.Start(filepath.Join(t.TempDir(), "t.json")))
	_, err := d.Prove(t.Context(), &backend.Partition{
		Params: p.params, Assignment: &a, RowsRead: func() {}, Stage: func(string, float64) {},
		Timeline: &timeline.Partition{Track: timeline.DeviceOf("test", 0, "fails").Track(timeline.Host, "worker"), Job: 1},
	})
	require.ErrorIs(t, err, groth16.ErrScalarRange)
	require.NoError(t, timeline.Stop())
	got, err := sums(t.Context(), d, p)
	require.NoError(t, err)
	p.check(t, got)
}

// TestSpansOfACardThatIsReset reports a job's spans while the context's events
// are given back, as a reset does that another job asks for as soon as all have
// ended: none that is gone is read, and none is kept for later.
func TestSpansOfACardThatIsReset(t *testing.T) {
	d, _ := open(t, Options{}, cudasim.Config{})
	require.NoError(t, timeline.Start(filepath.Join(t.TempDir(), "t.json")))
	defer func() { require.NoError(t, timeline.Stop()) }()
	track := &timeline.Partition{Track: timeline.DeviceOf("test", 0, "reset").Track(timeline.Host, "worker"), Job: 1}
	s := d.current.Load()
	ended := func(t *testing.T) *holding {
		t.Helper()
		h := &holding{Context: s, spans: s.Measure(track)}
		require.NotNil(t, h.spans)
		require.NoError(t, s.On(sched.Compute, func(b *driver.Bound, st driver.Stream) error {
			return h.spans.Around(b, st, timeline.Kernels, devcontext.TrackKernels, "nothing", func() error { return nil })
		}))
		require.NoError(t, s.Watch.Do((*driver.Bound).SynchronizeDeviceWide))
		return h
	}
	release := func() error { return s.Watch.Do(s.Stamps.Release) }

	h := ended(t)
	var both sync.WaitGroup
	both.Go(h.reportSpans)
	both.Go(func() { assert.NoError(t, release()) })
	both.Wait()

	h.reportSpans()
	assert.Empty(t, s.Stamps.Idle)
	assert.Empty(t, s.Stamps.Epochs)
}

// readSpans is the begins of spans, by job and name.
func readSpans(t *testing.T, path string) map[int]map[string][]float64 {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	var events []struct {
		Name string  `json:"name"`
		Cat  string  `json:"cat"`
		Ts   float64 `json:"ts"`
		Args struct{ Job int }
	}
	require.NoError(t, json.Unmarshal(text, &events))
	spans := map[int]map[string][]float64{}
	for _, e := range events {
		if spans[e.Args.Job] == nil {
			spans[e.Args.Job] = map[string][]float64{}
		}
		spans[e.Args.Job][e.Name] = append(spans[e.Args.Job][e.Name], e.Ts)
	}
	return spans
}

// TestNothingWaitsForTheDevicesClock lets the device not answer while the clocks
// are compared: a stamp, which is put under the compute lock, does not wait for
// that.
func TestNothingWaitsForTheDevicesClock(t *testing.T) {
	needsFaults(t)
	usual := devcontext.EpochWait
	defer func() { devcontext.EpochWait = usual }()
	devcontext.EpochWait = time.Hour
	d, sim := open(t, Options{}, cudasim.Config{})
	s := d.current.Load()
	const notReady = 600
	sim.Fault(cudasim.Fault{Call: "cuEventQuery", Code: notReady})
	compared, begun := make(chan error, 1), sim.Report().Calls["cuEventQuery"]
	go func() {
		compared <- s.Stamps.Thread.Do(s.Driver, func(b *driver.Bound) error {
			_, err := s.Stamps.EpochNow(b)
			return err
		})
	}()
	require.Eventually(t, func() bool { return sim.Report().Calls["cuEventQuery"] > begun }, time.Minute, time.Millisecond)
	require.NoError(t, s.On(sched.Compute, func(b *driver.Bound, stream driver.Stream) error {
		e, err := s.Stamps.Put(b, stream)
		s.Stamps.PutBack(e)
		return err
	}))
	select {
	case err := <-compared:
		assert.Fail(t, "the comparison has ended before the stamp was put", "%v", err)
	default:
	}
	sim.ClearFaults()
	require.NoError(t, <-compared)

	devcontext.EpochWait = 0
	sim.Fault(cudasim.Fault{Call: "cuEventQuery", Code: notReady})
	require.NoError(t, s.Stamps.Thread.Do(s.Driver, func(b *driver.Bound) error {
		s.Stamps.Epochs[0].At = time.Time{} // too old
		_, err := s.Stamps.EpochNow(b)
		assert.ErrorIs(t, err, devcontext.ErrClock, "nor does the comparison wait for ever")
		return nil
	}))
	sim.ClearFaults()
}
