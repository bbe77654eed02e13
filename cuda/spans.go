package cuda

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
	// epochLife is how long times on the card are counted from one event: the
	// driver tells them in single precision, to 1 µs in 16 s.
	epochLife = 10 * time.Second
	// epochTries is how often the two clocks are compared; the comparison that
	// took the shortest counts.
	epochTries = 5
)

// epochWait is how long the answer to one comparison is waited for, in which a
// device answers 100,000 times: one that is lost may never. Tests change it.
var epochWait = time.Second

// stamps are the events with a time stamp of one context, and the clocks'
// relation. Nothing is made unless a timeline is recorded.
type stamps struct {
	mu     sync.Mutex
	idle   []driver.Event // guarded by mu; may be recorded
	epochs []epoch        // guarded by mu; the last one is in use

	comparing sync.Mutex    // before mu; held while the clocks are compared, which waits for the device
	clock     driver.Stream // guarded by comparing; nothing but the events of epochs runs on it

	readMu   sync.Mutex // before comparing and mu; held while the events of a job that has ended are read
	released bool       // guarded by readMu; all events are given back

	// What a timeline asks takes up to a millisecond, for which a poll under the
	// memory lock would have to wait.
	thread driver.LateThread
}

// epoch is an event and when it happened on the host's clock.
type epoch struct {
	event driver.Event
	at    time.Time
}

// spans are the intervals of one job on the card's streams. A nil *spans
// measures nothing.
type spans struct {
	partition *timeline.Partition
	device    *timeline.Device
	stamps    *stamps
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
	rowUploads = "upload stream"
	rowTiles   = "tiles stream"
	rowKernels = "compute stream"
)

// rowSide is the name of a side stream's track.
func rowSide(i int) string { return fmt.Sprintf("side stream %d", i+1) }

// measure makes the spans of a job, nil unless a timeline is recorded. It may
// wait for the card's answer to an event on a stream of its own.
func (s *session) measure(partition *timeline.Partition) *spans {
	if partition == nil || !timeline.On() {
		return nil
	}
	sched.MayWait("the device's clock")
	card := s.context.Device()
	m := &spans{partition: partition, stamps: &s.stamps, device: timeline.DeviceOf(backend.CUDA, card.Ordinal, card.Name)}
	err := s.stamps.thread.Do(s.context, func(b *driver.Bound) (err error) {
		m.epoch, err = s.stamps.epochNow(b)
		return err
	})
	if err != nil {
		return nil // the job's own calls will meet the error
	}
	return m
}

// epochNow is the epoch in use, or a new one.
func (t *stamps) epochNow(b *driver.Bound) (epoch, error) {
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
			t.putBack(e.event)
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.epochs = append(t.epochs, best)
	return best, nil
}

// epochInUse is the last epoch, if it is young enough.
func (t *stamps) epochInUse() (epoch, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(t.epochs)
	if n == 0 || time.Since(t.epochs[n-1].at) >= epochLife {
		return epoch{}, false
	}
	return t.epochs[n-1], true
}

// errClock is for a device that does not say what time it is.
var errClock = errors.New("cuda: the device does not answer to an event on an idle stream")

// compare records an event on the idle stream. It happened between the call and
// the answer. It is called with comparing held, and not mu, which is taken under
// the compute lock.
func (t *stamps) compare(b *driver.Bound) (epoch, time.Duration, error) {
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
		if took > epochWait {
			return epoch{}, 0, errClock
		}
	}
}

func (t *stamps) take(b *driver.Bound) (driver.Event, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n := len(t.idle); n > 0 {
		e := t.idle[n-1]
		t.idle = t.idle[:n-1]
		return e, nil
	}
	return b.NewTimer()
}

func (t *stamps) putBack(e driver.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.idle = append(t.idle, e)
}

// put stamps the tail of a stream.
func (t *stamps) put(b *driver.Bound, s driver.Stream) (driver.Event, error) {
	e, err := t.take(b)
	if err != nil {
		return 0, err
	}
	return e, b.Record(e, s)
}

// around calls l, which enqueues work on a stream, between two stamps.
func (m *spans) around(b *driver.Bound, s driver.Stream, kind timeline.Kind, track, name string, l func() error) error {
	if m == nil {
		return l()
	}
	begin, err := m.stamps.put(b, s)
	if err != nil {
		return err
	}
	is := span{track: m.device.Track(kind, track), name: name, begin: begin}
	err = l()
	if err == nil {
		is.end, err = m.stamps.put(b, s)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.list = append(m.list, is)
	return err
}

// copies is around for the streams that carry only copies; other streams' work
// is told by who enqueues it.
func (m *spans) copies(b *driver.Bound, of sched.Stream, s driver.Stream, l staging.Work) error {
	track, ok := map[sched.Stream]string{sched.Upload: rowUploads, sched.Tiles: rowTiles}[of]
	if m == nil || !ok {
		return l(b, s)
	}
	return m.around(b, s, timeline.Copies, track, "copy", func() error { return l(b, s) })
}

// staging begins the span of a goroutine that fills slots, and returns what
// ends it.
func (m *spans) staging(filler int) (end func()) {
	if m == nil {
		return func() {}
	}
	return m.partition.BeginIn(m.device.Track(timeline.Host, fmt.Sprintf("staging %d", filler+1)), "staging")
}

// report puts the spans on the timeline; all that was enqueued has run. Of a
// card that was lost nothing is known; one that is being reset, which waits only
// for jobs to end, has no events any more.
func (m *spans) report(b *driver.Bound) error {
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
		begin := m.epoch.at.Add(after)
		m.partition.SpanIn(is.track, is.name, begin, begin.Add(took))
	}
	m.stamps.mu.Lock()
	defer m.stamps.mu.Unlock()
	for _, is := range m.list {
		m.stamps.idle = append(m.stamps.idle, is.begin)
		if is.end != 0 {
			m.stamps.idle = append(m.stamps.idle, is.end)
		}
	}
	return nil
}

// release gives all events back; nothing is recorded any more. What the driver
// refuses to take back goes with the context.
func (t *stamps) release(b *driver.Bound) error {
	t.readMu.Lock()
	defer t.readMu.Unlock()
	t.released = true
	t.comparing.Lock()
	defer t.comparing.Unlock()
	t.mu.Lock()
	defer t.mu.Unlock()
	var failed error
	for _, e := range t.epochs {
		failed = errors.Join(failed, b.DestroyEvent(e.event))
	}
	for _, e := range t.idle {
		failed = errors.Join(failed, b.DestroyEvent(e))
	}
	t.epochs, t.idle = nil, nil
	if t.clock != 0 {
		failed = errors.Join(failed, b.DestroyStream(t.clock))
		t.clock = 0
	}
	return failed
}
