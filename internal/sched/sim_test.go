package sched

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/libcuzk/libcuzk/internal/vram"
)

// simDevice is a device on a virtual clock: the clock of the synctest bubble
// that the test runs in. Work has a duration and no content. The end of each
// piece is known when it is enqueued, since a stream only ever waits for what
// has been recorded before. What it checks is what the protocol promises:
// no work on memory before earlier jobs' work there has ended, no work on
// memory that is not mapped, no memory taken back under running work, no call
// with an event that is gone.
type simDevice struct {
	budget uint64
	begin  time.Time

	// fault, if not nil, may fail the named call. Called with mu held.
	fault func(call string) error

	mu      sync.Mutex // guards what follows
	tail    [Streams]time.Duration
	bus     time.Duration // when the link from the host is free
	busy    [Streams]time.Duration
	events  map[Event]time.Duration
	next    Event
	mapped  map[uint64]uint64 // offset → bytes
	stolen  uint64            // memory that another process holds
	uses    []simUse
	broken  []string // promises not kept
	maxUsed uint64   // most bytes mapped at a time
}

// simUse is work of one job on one range, for as long as it matters.
type simUse struct {
	vram.Block
	job        int64 // ticket, or -1 for a load
	start, end time.Duration
}

func newSimDevice(budget uint64) *simDevice {
	return &simDevice{
		budget: budget,
		begin:  time.Now(),
		events: map[Event]time.Duration{},
		mapped: map[uint64]uint64{},
	}
}

func (d *simDevice) now() time.Duration { return time.Since(d.begin) }

func (d *simDevice) breakf(format string, args ...any) {
	d.broken = append(d.broken, fmt.Sprintf("%v: ", d.now())+fmt.Sprintf(format, args...))
}

func (d *simDevice) fails(call string) error {
	if d.fault == nil {
		return nil
	}
	return d.fault(call)
}

// work enqueues dur of work of job on st, touching blocks. Work that copies
// from the host also needs the link, which does one copy at a time.
func (d *simDevice) work(job int64, st Stream, dur time.Duration, copies bool, blocks ...vram.Block) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.fails("work"); err != nil {
		return fmt.Errorf("%w: %w", ErrDeviceLost, err)
	}
	start := max(d.now(), d.tail[st])
	if copies {
		start = max(start, d.bus)
		d.bus = start + dur
	}
	end := start + dur
	d.tail[st] = end
	d.busy[st] += dur
	for _, b := range blocks {
		d.use(simUse{b, job, start, end})
	}
	return nil
}

// use checks a piece of work against what else there is on its range.
func (d *simDevice) use(u simUse) {
	if !d.isMapped(u.Block) {
		d.breakf("job %d works on %v, which is not all mapped", u.job, u.Block)
	}
	now := d.now()
	kept := d.uses[:0]
	for _, o := range d.uses {
		overlap := o.Offset < u.End() && u.Offset < o.End()
		if overlap && o.job != u.job {
			if o.end > u.start {
				d.breakf("job %d works on %v from %v, job %d there until %v", u.job, u.Block, u.start, o.job, o.end)
			}
			if o.job >= 0 && u.job >= 0 && o.job > u.job {
				d.breakf("job %d works on %v after job %d has had it", u.job, u.Block, o.job)
			}
		}
		inside := u.Offset <= o.Offset && o.End() <= u.End()
		if o.end > now || !inside {
			kept = append(kept, o)
		}
	}
	d.uses = append(kept, u)
}

func (d *simDevice) isMapped(b vram.Block) bool {
	var n uint64
	for off, bytes := range d.mapped {
		lo, hi := max(off, b.Offset), min(off+bytes, b.End())
		if lo < hi {
			n += hi - lo
		}
	}
	return n == b.Bytes
}

func (d *simDevice) Record(st Stream) (Event, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.fails("record"); err != nil {
		return 0, err
	}
	d.next++
	d.events[d.next] = d.tail[st]
	return d.next, nil
}

func (d *simDevice) Poll(pending *[Streams][]Event) (done [Streams]int, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.fails("poll"); err != nil {
		return done, err
	}
	for st, events := range pending {
		for _, e := range events {
			at, ok := d.events[e]
			if !ok {
				d.breakf("poll of event %d, which is gone", e)
			}
			if at > d.now() {
				break
			}
			done[st]++
		}
	}
	return done, nil
}

func (d *simDevice) Wait(st Stream, e Event) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.fails("wait"); err != nil {
		return err
	}
	at, ok := d.events[e]
	if !ok {
		d.breakf("wait for event %d, which is gone", e)
	}
	if st == Upload || st == Load {
		d.breakf("the %v stream waits for an event", st)
	}
	d.tail[st] = max(d.tail[st], at)
	return nil
}

func (d *simDevice) Destroy(e Event) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, ok := d.events[e]; !ok {
		d.breakf("destroy of event %d, which is gone", e)
	}
	delete(d.events, e)
}

func (d *simDevice) Map(offset, bytes uint64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.fails("map"); err != nil {
		return fmt.Errorf("%w: %w", ErrDeviceLost, err)
	}
	if d.mapped[offset] != 0 || offset+bytes > d.budget {
		d.breakf("map of %d bytes at %d, budget %d, mapped there %d", bytes, offset, d.budget, d.mapped[offset])
	}
	var sum uint64
	for _, n := range d.mapped {
		sum += n
	}
	if sum+bytes+d.stolen > d.budget {
		return fmt.Errorf("sim: %d bytes used here and %d elsewhere of %d: %w", sum, d.stolen, d.budget, ErrNoMemory)
	}
	d.mapped[offset] = bytes
	d.maxUsed = max(d.maxUsed, sum+bytes)
	return nil
}

func (d *simDevice) Unmap(offset, bytes uint64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.mapped[offset] != bytes {
		d.breakf("unmap of %d bytes at %d, mapped there %d", bytes, offset, d.mapped[offset])
	}
	for _, u := range d.uses {
		if u.end > d.now() && u.Offset < offset+bytes && offset < u.End() {
			d.breakf("unmap of [%d, %d) under work of job %d until %v", offset, offset+bytes, u.job, u.end)
		}
	}
	delete(d.mapped, offset)
	return nil
}

// steal makes another process hold n bytes of the memory, as far as there is.
func (d *simDevice) steal(n uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var sum uint64
	for _, m := range d.mapped {
		sum += m
	}
	d.stolen = min(n, d.budget-min(d.budget, sum))
}

// reset is a new context: no memory, no events, no work.
func (d *simDevice) reset() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.events = map[Event]time.Duration{}
	d.mapped = map[uint64]uint64{}
	d.uses = nil
	d.tail = [Streams]time.Duration{}
	d.bus = 0
}

// errSticky is what a simulated device reports when it is lost.
var errSticky = errors.New("sim: illegal address")
