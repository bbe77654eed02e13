package devcontext

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/libcuzk/libcuzk/cuda/driver"
	"github.com/libcuzk/libcuzk/cuda/internal/staging"
	"github.com/libcuzk/libcuzk/engine/backend"
	"github.com/libcuzk/libcuzk/engine/timeline"
	"github.com/libcuzk/libcuzk/internal/sched"
)

const (
	// epochLife is how long times on the device are counted from one event: the
	// driver tells them in single precision, to 1 µs in 16 s.
	epochLife = 10 * time.Second
	// epochTries is how often the two clocks are compared; the comparison that
	// took the shortest counts.
	epochTries = 5
)

// EpochWait is how long the answer to one comparison is waited for, in which a
// device answers 100,000 times: one that is lost may never. Tests change it.
var EpochWait = time.Second

// Stamps are the events with a time stamp of one context, and the clocks'
// relation. Nothing is made unless a timeline is recorded.
type Stamps struct {
	mu     sync.Mutex
	Idle   []driver.Event // guarded by mu; may be recorded
	Epochs []epoch        // guarded by mu; the last one is in use

	comparing sync.Mutex    // before mu; held while the clocks are compared, which waits for the device
	clock     driver.Stream // guarded by comparing; nothing but the events of epochs runs on it

	readMu   sync.Mutex // before comparing and mu; held while the events of a job that has ended are read
	released bool       // guarded by readMu; all events are given back

	// What a timeline asks takes up to a millisecond, for which a poll under the
	// memory lock would have to wait.
	Thread driver.LateThread
}

// epoch is an event and when it happened on the host's clock.
type epoch struct {
	event driver.Event
	At    time.Time
}

// Spans are the intervals of one job on the device's streams. A nil *spans
// measures nothing.
type Spans struct {
	partition *timeline.Partition
	device    *timeline.Device
	stamps    *Stamps
	epoch     epoch

	mu   sync.Mutex
	list []span // guarded by mu
}

type span struct {
	track      *timeline.Track
	name       string
	begin, end driver.Event // end is 0 if what is between has failed
}

// Names of the streams' tracks.
const (
	trackUploads = "upload stream"
	trackTiles   = "tiles stream"
	TrackKernels = "compute stream"
)

// TrackSide is the name of a side stream's track.
func TrackSide(i int) string { return fmt.Sprintf("side stream %d", i+1) }

// Measure makes the spans of a job, nil unless a timeline is recorded. It may
// wait for the device's answer to an event on a stream of its own.
func (s *Context) Measure(partition *timeline.Partition) *Spans {
	if partition == nil || !timeline.On() {
		return nil
	}
	sched.MayWait("the device's clock")
	dev := s.Driver.Device()
	m := &Spans{partition: partition, stamps: &s.Stamps, device: timeline.DeviceOf(backend.CUDA, dev.Ordinal, dev.Name)}
	err := s.Stamps.Thread.Do(s.Driver, func(b *driver.Bound) (err error) {
		m.epoch, err = s.Stamps.EpochNow(b)
		return err
	})
	if err != nil {
		return nil // the job's own calls will meet the error
	}
	return m
}

// EpochNow is the epoch in use, or a new one.
func (t *Stamps) EpochNow(b *driver.Bound) (epoch, error) {
	t.comparing.Lock()
	defer t.comparing.Unlock()
	if e, ok := t.epochInUse(); ok {
		return e, nil
	}
	if t.clock == 0 {
		var err error
		if t.clock, err = b.NewStream(); err != nil {
			return epoch{}, err
		}
	}
	var best epoch
	var bestTook time.Duration
	for range epochTries {
		e, took, err := t.compare(b)
		if err != nil {
			return epoch{}, err
		}
		if best.event == 0 || took < bestTook {
			best, e, bestTook = e, best, took
		}
		if e.event != 0 {
			t.PutBack(e.event)
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.Epochs = append(t.Epochs, best)
	return best, nil
}

// epochInUse is the last epoch, if it is young enough.
func (t *Stamps) epochInUse() (epoch, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(t.Epochs)
	if n == 0 || time.Since(t.Epochs[n-1].At) >= epochLife {
		return epoch{}, false
	}
	return t.Epochs[n-1], true
}

// ErrClock is for a device that does not say what time it is.
var ErrClock = errors.New("cuda: the device does not answer to an event on an idle stream")

// compare records an event on the idle stream. It happened between the call and
// the answer. It is called with comparing held, and not mu, which is taken under
// the compute lock.
func (t *Stamps) compare(b *driver.Bound) (epoch, time.Duration, error) {
	e, err := t.take(b)
	if err != nil {
		return epoch{}, 0, err
	}
	begin := time.Now()
	if err := b.Record(e, t.clock); err != nil {
		return epoch{}, 0, err
	}
	for {
		done, err := b.Done(e)
		if err != nil {
			return epoch{}, 0, err
		}
		took := time.Since(begin)
		if done {
			return epoch{e, begin.Add(took / 2)}, took, nil
		}
		if took > EpochWait {
			return epoch{}, 0, ErrClock
		}
	}
}

func (t *Stamps) take(b *driver.Bound) (driver.Event, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n := len(t.Idle); n > 0 {
		e := t.Idle[n-1]
		t.Idle = t.Idle[:n-1]
		return e, nil
	}
	return b.NewTimer()
}

func (t *Stamps) PutBack(e driver.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.Idle = append(t.Idle, e)
}

// Put stamps the tail of a stream.
func (t *Stamps) Put(b *driver.Bound, s driver.Stream) (driver.Event, error) {
	e, err := t.take(b)
	if err != nil {
		return 0, err
	}
	return e, b.Record(e, s)
}

// Around calls l, which enqueues work on a stream, between two stamps.
func (m *Spans) Around(b *driver.Bound, s driver.Stream, kind timeline.Kind, track, name string, l func() error) error {
	if m == nil {
		return l()
	}
	begin, err := m.stamps.Put(b, s)
	if err != nil {
		return err
	}
	is := span{track: m.device.Track(kind, track), name: name, begin: begin}
	err = l()
	if err == nil {
		is.end, err = m.stamps.Put(b, s)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.list = append(m.list, is)
	return err
}

// Copies is around for the streams that carry only copies; other streams' work
// is told by who enqueues it.
func (m *Spans) Copies(b *driver.Bound, of sched.Stream, s driver.Stream, l staging.Work) error {
	track, ok := map[sched.Stream]string{sched.Upload: trackUploads, sched.Tiles: trackTiles}[of]
	if m == nil || !ok {
		return l(b, s)
	}
	return m.Around(b, s, timeline.Copies, track, "copy", func() error { return l(b, s) })
}

// Staging begins the span of a goroutine that fills slots, and returns what
// ends it.
func (m *Spans) Staging(filler int) (end func()) {
	if m == nil {
		return func() {}
	}
	return m.partition.BeginIn(m.device.Track(timeline.Host, fmt.Sprintf("staging %d", filler+1)), "staging")
}

// Report puts the spans on the timeline; all that was enqueued has run. Of a
// device that was lost nothing is known; one that is being reset, which waits only
// for jobs to end, has no events any more.
func (m *Spans) Report(b *driver.Bound) error {
	m.stamps.readMu.Lock()
	defer m.stamps.readMu.Unlock()
	if m.stamps.released {
		return nil
	}
	for _, is := range m.list {
		if is.end == 0 {
			continue
		}
		after, err := b.Elapsed(m.epoch.event, is.begin)
		if err != nil {
			return err
		}
		took, err := b.Elapsed(is.begin, is.end)
		if err != nil {
			return err
		}
		begin := m.epoch.At.Add(after)
		m.partition.SpanIn(is.track, is.name, begin, begin.Add(took))
	}
	m.stamps.mu.Lock()
	defer m.stamps.mu.Unlock()
	for _, is := range m.list {
		m.stamps.Idle = append(m.stamps.Idle, is.begin)
		if is.end != 0 {
			m.stamps.Idle = append(m.stamps.Idle, is.end)
		}
	}
	return nil
}

// Release gives all events back; nothing is recorded any more. What the driver
// refuses to take back goes with the context.
func (t *Stamps) Release(b *driver.Bound) error {
	t.readMu.Lock()
	defer t.readMu.Unlock()
	t.released = true
	t.comparing.Lock()
	defer t.comparing.Unlock()
	t.mu.Lock()
	defer t.mu.Unlock()
	var failed error
	for _, e := range t.Epochs {
		failed = errors.Join(failed, b.DestroyEvent(e.event))
	}
	for _, e := range t.Idle {
		failed = errors.Join(failed, b.DestroyEvent(e))
	}
	t.Epochs, t.Idle = nil, nil
	if t.clock != 0 {
		failed = errors.Join(failed, b.DestroyStream(t.clock))
		t.clock = 0
	}
	return failed
}
