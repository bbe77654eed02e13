package staging

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/libcuzk/libcuzk/cuda/driver"
	"github.com/libcuzk/libcuzk/internal/sched"
)

const (
	// SlotBytes is the size of one pinned buffer. Measured on an H200 with 16
	// cores: 4 MiB pieces move 46.9 GB/s from pageable memory; the copy of
	// one takes about 80 µs on the bus, long against 10 µs to enqueue it.
	SlotBytes = 4 << 20

	// pollInterval is how long to sleep before a copy in flight is looked at
	// again: shorter than one slot's copy.
	pollInterval = 20 * time.Microsecond
)

// Ring is a set of pinned buffers that pageable memory goes through on its way
// to the device. One user at a time fills and sends: the job in the turn that
// the ring belongs to.
type Ring struct {
	Free    chan *Slot
	Flying  []*Slot // enqueued, oldest first; belongs to the sender
	threads int     // that fill at once
	Slots   []*Slot

	HangAfter time.Duration // that a copy may last; 0: for ever
}

// Slot is one pinned buffer. Its event is recorded after each of its copies
// and waited for by nobody but the ring, so it may be recorded again.
type Slot struct {
	Index  int
	Memory []byte
	copied driver.Event
}

// NewRing pins count buffers.
func NewRing(b *driver.Bound, count, threads int) (*Ring, error) {
	r := &Ring{Free: make(chan *Slot, count), threads: threads}
	for i := range count {
		memory, err := b.HostAlloc(SlotBytes)
		if err != nil {
			return nil, errors.Join(err, r.Release(b))
		}
		s := &Slot{Index: i, Memory: memory}
		r.Slots = append(r.Slots, s)
		if s.copied, err = b.NewEvent(); err != nil {
			return nil, errors.Join(err, r.Release(b))
		}
		r.Free <- s
	}
	return r, nil
}

// Release unpins the buffers; nothing may be flying. What the driver refuses
// to take back stays for another call.
func (r *Ring) Release(b *driver.Bound) error {
	var failed error
	for _, s := range r.Slots {
		if s.copied != 0 {
			if err := b.DestroyEvent(s.copied); err != nil {
				failed = errors.Join(failed, err)
			} else {
				s.copied = 0
			}
		}
		if s.Memory != nil {
			if err := b.HostFreeDeviceWide(s.Memory); err != nil {
				failed = errors.Join(failed, err)
			} else {
				s.Memory = nil
			}
		}
	}
	return failed
}

// Work enqueues copies or launches on a stream; it runs on the stream's thread.
type Work func(b *driver.Bound, s driver.Stream) error

// Stream is a stream that copies may be enqueued on.
type Stream struct {
	// Enqueue runs l when the given blocks of the job may be written.
	Enqueue func(l Work, blocks ...int) error
	// Look runs l at once; it enqueues nothing.
	Look func(l Work) error
	// Staging, if not nil, begins the span of a goroutine that fills slots, and
	// returns what ends it.
	Staging func(filler int) (end func())
}

// Segment is a part of a job's input: so many pieces, for one of its blocks.
type Segment struct {
	Pieces int
	Block  int
	// Fill puts a piece into a slot and returns what enqueues its copies.
	Fill func(piece int, s *Slot) (Work, error)
}

// fillSafely makes an error of a panic, so that the slot is not lost and the
// process goes on.
func (s Segment) fillSafely(piece int, to *Slot) (l Work, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("BUG: cuda: staging piece %d panicked: %v\n%s", piece, p, debug.Stack())
		}
	}()
	return s.Fill(piece, to)
}

// filled is a slot on its way to the stream.
type filled struct {
	slot  *Slot
	block int
	copy  Work
}

// Send fills slots with the pieces of all segments, in order, on several
// goroutines and enqueues each as soon as it is filled. It returns when all
// copies are enqueued, or at the first error, or panics. Whichever it is, no
// fill is running any more, so nothing of the caller's is read.
func (r *Ring) Send(ctx context.Context, to Stream, segments ...Segment) (err error) {
	sched.MayWait("pinned buffers")
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ready := make(chan filled, len(r.Slots)) // a place for every slot: sends never block
	fillers, fillCtx := errgroup.WithContext(ctx)
	pieces := &pieceCounter{segments: segments}
	for i := range min(r.threads, pieces.total()) {
		fillers.Go(func() error {
			if to.Staging != nil {
				defer to.Staging(i)()
			}
			return r.fillPieces(fillCtx, pieces, ready)
		})
	}
	var fillErr error // written before ready is closed
	go func() {
		fillErr = fillers.Wait()
		close(ready)
	}()
	defer func() {
		cancel()
		for f := range ready { // what was filled after a failure
			r.Free <- f.slot
		}
		if err == nil {
			err = fillErr
		}
	}()
	return r.flyAll(ready, to)
}

// pieceCounter hands out the pieces of segments in order.
type pieceCounter struct {
	segments []Segment
	next     atomic.Int64
}

func (c *pieceCounter) total() (n int) {
	for _, s := range c.segments {
		n += s.Pieces
	}
	return n
}

func (c *pieceCounter) take() (of Segment, piece int, ok bool) {
	piece = int(c.next.Add(1)) - 1
	for _, s := range c.segments {
		if piece < s.Pieces {
			return s, piece, true
		}
		piece -= s.Pieces
	}
	return Segment{}, 0, false
}

// flyAll enqueues what comes from ready until it is closed, and meanwhile
// frees the slots that have been copied.
func (r *Ring) flyAll(ready <-chan filled, to Stream) error {
	oldest, since := r.oldest(), time.Now()
	for {
		if o := r.oldest(); o != oldest {
			oldest, since = o, time.Now()
		}
		if waited := time.Since(since); r.HangAfter > 0 && oldest != nil && waited > r.HangAfter {
			return fmt.Errorf("%w: a copy has not ended for %v", sched.ErrHung, waited.Round(time.Second))
		}
		var next filled
		var open bool
		select {
		case next, open = <-ready:
		default:
			if len(r.Flying) > 0 {
				if err := to.Look(r.putCopied); err != nil {
					return err
				}
				time.Sleep(pollInterval)
				continue
			}
			next, open = <-ready
		}
		if !open {
			return nil
		}
		if err := r.fly(collect(next, ready), to); err != nil {
			return err
		}
	}
}

// oldest is the slot whose copy was enqueued first of those that fly, or nil.
func (r *Ring) oldest() *Slot {
	if len(r.Flying) == 0 {
		return nil
	}
	return r.Flying[0]
}

// collect is first and what else is ready now: one call enqueues them all.
func collect(first filled, ready <-chan filled) []filled {
	batch := []filled{first}
	for range len(ready) {
		f, open := <-ready
		if !open {
			break
		}
		batch = append(batch, f)
	}
	return batch
}

func (r *Ring) fillPieces(ctx context.Context, pieces *pieceCounter, ready chan<- filled) error {
	for {
		of, piece, ok := pieces.take()
		if !ok {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case s := <-r.Free:
			copies, err := of.fillSafely(piece, s)
			if err != nil {
				r.Free <- s
				return err
			}
			ready <- filled{s, of.Block, copies}
			runtime.Gosched() // as copyChecked does
		}
	}
}

// fly enqueues the copies of some slots.
func (r *Ring) fly(batch []filled, to Stream) error {
	// Flying from here on, whatever happens: a copy may have been enqueued.
	var blocks []int
	for _, f := range batch {
		r.Flying = append(r.Flying, f.slot)
		if !slices.Contains(blocks, f.block) {
			blocks = append(blocks, f.block)
		}
	}
	return to.Enqueue(func(b *driver.Bound, s driver.Stream) error {
		recorded := 0
		defer func() {
			// After a failure: of these, copies may have been enqueued.
			for _, f := range batch[recorded:] {
				_ = b.Record(f.slot.copied, s)
			}
		}()
		for _, f := range batch {
			if err := f.copy(b, s); err != nil {
				return err
			}
			if err := b.Record(f.slot.copied, s); err != nil {
				return err
			}
			recorded++
		}
		return r.putCopied(b, s)
	}, blocks...)
}

// putCopied frees the slots whose copies have run.
func (r *Ring) putCopied(b *driver.Bound, _ driver.Stream) error {
	for len(r.Flying) > 0 {
		done, err := b.Done(r.Flying[0].copied)
		if err != nil || !done {
			return err
		}
		r.Free <- r.Flying[0]
		r.Flying = r.Flying[1:]
	}
	return nil
}
