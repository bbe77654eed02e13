package timeline

import (
	"fmt"
	"sync"
	"time"
)

// Kind says what the spans of a track are.
type Kind string

// The kinds; they become the category of each span.
const (
	Host    Kind = "host"    // a worker, or a goroutine that works for one
	Kernels Kind = "kernels" // a stream of kernels, by the device's clock
	Copies  Kind = "copies"  // a stream of copies, by the device's clock
	Lock    Kind = "lock"    // holds of a lock
	Queue   Kind = "queue"   // waiting partitions; spans overlap
)

// Device is a group of tracks: a process to Chrome.
type Device struct {
	id   int
	name string

	mu     sync.Mutex
	tracks map[string]*Track // guarded by mu
}

// Track is a line of the timeline: a thread to Chrome.
type Track struct {
	device *Device
	id     int // order of making, within the device
	kind   Kind
	name   string
}

var (
	devicesMu sync.Mutex
	devices   = map[string]*Device{} // guarded by devicesMu
)

// DeviceOf is the device of a back end, by its own number and name; the same
// one at every call.
func DeviceOf(backend string, ordinal int, name string) *Device {
	key := fmt.Sprintf("%s%d %s", backend, ordinal, name)
	devicesMu.Lock()
	defer devicesMu.Unlock()
	d := devices[key]
	if d == nil {
		d = &Device{id: len(devices) + 1, name: key, tracks: map[string]*Track{}}
		devices[key] = d
	}
	return d
}

// Track is the device's track of that name; the same one at every call. kind is
// that of the first call.
func (d *Device) Track(kind Kind, name string) *Track {
	d.mu.Lock()
	defer d.mu.Unlock()
	t := d.tracks[name]
	if t == nil {
		t = &Track{device: d, id: len(d.tracks) + 1, kind: kind, name: name}
		d.tracks[name] = t
	}
	return t
}

// Hold records that a lock was held; short holds are counted only. A nil track
// and a zero begin, which Now gives while nothing is recorded, record nothing.
func (t *Track) Hold(begin, end time.Time) {
	rec := current.Load()
	if rec == nil || t == nil || begin.IsZero() {
		return
	}
	if end.Sub(begin) < ShortHold {
		rec.countShort(t)
		return
	}
	rec.add(event{track: t, name: "held", begin: begin, end: end})
}

// Partition is one partition in the hands of one worker. A nil Partition records
// nothing.
type Partition struct {
	Track *Track // the worker's
	Job   uint64
	Index int // of the partition in its job
}

// Span records a span in the worker's track. Nothing is recorded for a zero
// begin.
func (p *Partition) Span(name string, begin, end time.Time) {
	if p != nil {
		p.SpanIn(p.Track, name, begin, end)
	}
}

// SpanIn records a span of the partition in another track.
func (p *Partition) SpanIn(track *Track, name string, begin, end time.Time) {
	rec := current.Load()
	if rec == nil || p == nil || track == nil || begin.IsZero() {
		return
	}
	rec.add(event{track: track, name: name, begin: begin, end: end, job: p.Job, partition: p.Index})
}

// Begin begins a span in the worker's track; the function returned ends it.
func (p *Partition) Begin(name string) (end func()) {
	if p == nil {
		return nothing
	}
	return p.BeginIn(p.Track, name)
}

// BeginIn begins a span of the partition in another track.
func (p *Partition) BeginIn(track *Track, name string) (end func()) {
	if p == nil || !On() {
		return nothing
	}
	begin := time.Now()
	return func() { p.SpanIn(track, name, begin, time.Now()) }
}

func nothing() {}
