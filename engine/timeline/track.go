package timeline

import (
	"fmt"
	"sync"
	"time"
)

// Kind says what the spans of a row are.
type Kind string

// The kinds; they become the category of each span.
const (
	Host    Kind = "host"    // a worker, or a goroutine that works for one
	Kernels Kind = "kernels" // a stream of kernels, by the device's clock
	Copies  Kind = "copies"  // a stream of copies, by the device's clock
	Lock    Kind = "lock"    // holds of a lock
	Queue   Kind = "queue"   // waiting partitions; spans overlap
)

// Device is a group of rows: a process to Chrome.
type Device struct {
	id   int
	name string

	mu   sync.Mutex
	rows map[string]*Row // guarded by mu
}

// Row is a line of the timeline: a thread to Chrome.
type Row struct {
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
		d = &Device{id: len(devices) + 1, name: key, rows: map[string]*Row{}}
		devices[key] = d
	}
	return d
}

// Row is the device's row of that name; the same one at every call. kind is
// that of the first call.
func (d *Device) Row(kind Kind, name string) *Row {
	d.mu.Lock()
	defer d.mu.Unlock()
	r := d.rows[name]
	if r == nil {
		r = &Row{device: d, id: len(d.rows) + 1, kind: kind, name: name}
		d.rows[name] = r
	}
	return r
}

// Hold records that a lock was held; short holds are counted only. A nil row
// and a zero begin, which Now gives while nothing is recorded, record nothing.
func (r *Row) Hold(begin, end time.Time) {
	rec := current.Load()
	if rec == nil || r == nil || begin.IsZero() {
		return
	}
	if end.Sub(begin) < ShortHold {
		rec.countShort(r)
		return
	}
	rec.add(event{row: r, name: "held", begin: begin, end: end})
}

// Task is one partition in the hands of one worker. A nil Task records
// nothing.
type Task struct {
	Row       *Row // the worker's
	Job       uint64
	Partition int
}

// Span records a span in the worker's row. Nothing is recorded for a zero
// begin.
func (t *Task) Span(name string, begin, end time.Time) {
	if t != nil {
		t.SpanIn(t.Row, name, begin, end)
	}
}

// SpanIn records a span of the task in another row.
func (t *Task) SpanIn(row *Row, name string, begin, end time.Time) {
	rec := current.Load()
	if rec == nil || t == nil || row == nil || begin.IsZero() {
		return
	}
	rec.add(event{row: row, name: name, begin: begin, end: end, job: t.Job, partition: t.Partition})
}

// Begin begins a span in the worker's row; the function returned ends it.
func (t *Task) Begin(name string) (end func()) {
	if t == nil {
		return nothing
	}
	return t.BeginIn(t.Row, name)
}

// BeginIn begins a span of the task in another row.
func (t *Task) BeginIn(row *Row, name string) (end func()) {
	if t == nil || !On() {
		return nothing
	}
	begin := time.Now()
	return func() { t.SpanIn(row, name, begin, time.Now()) }
}

func nothing() {}
