package cuda

import (
	"context"
	"sync"

	"github.com/libcuzk/libcuzk/cuda/driver"
	"github.com/libcuzk/libcuzk/cuda/internal/devcontext"
	"github.com/libcuzk/libcuzk/cuda/internal/staging"
	"github.com/libcuzk/libcuzk/internal/launch"
	"github.com/libcuzk/libcuzk/internal/sched"
)

// holding is what a ticket has claimed, as the kernels see it. It tells the
// simulator when the ticket begins and ends to use a block; a real driver
// hears nothing of it.
type holding struct {
	*devcontext.Context // of the card when the ticket claimed
	ticket              *sched.Ticket
	spans               *devcontext.Spans // for the timeline; nil: none is recorded

	holdMu sync.Mutex
	began  map[int]bool // guarded by holdMu; blocks used so far, false once handed on
}

func holdingOf(s *devcontext.Context, t *sched.Ticket) *holding {
	return &holding{Context: s, ticket: t, began: map[int]bool{}}
}

// owner is the ticket in notes to the simulator, which keeps 0 for the device.
func (h *holding) owner() uint64 { return h.ticket.Number() + 1 }

// block is where a block lies, or the parameter set.
func (h *holding) block(i int) launch.Range {
	b := h.ticket.Block(i)
	return launch.Range{Addr: uint64(h.At(b.Offset)), Bytes: b.Bytes}
}

// lane is a stream that the ticket's copies and kernels may be enqueued on.
func (h *holding) lane(ctx context.Context, st sched.Stream) staging.Stream {
	return staging.Stream{
		Enqueue: func(l staging.Work, blocks ...int) error {
			h.Step("before enqueueing")
			return h.ticket.Enqueue(ctx, st, func() error {
				return h.On(st, func(b *driver.Bound, stream driver.Stream) error {
					h.Step("enqueueing")
					if err := h.begin(b, blocks); err != nil {
						return err
					}
					b.For(h.owner())
					return h.spans.Copies(b, st, stream, func(b *driver.Bound, stream driver.Stream) error {
						defer h.Step("enqueued")
						return l(b, stream)
					})
				})
			}, blocks...)
		},
		Look:    func(l staging.Work) error { return h.On(st, l) },
		Staging: h.spans.Staging,
	}
}

// begin notes the first use of blocks. Their earlier holders have handed them
// on by now, which at the claim they need not have.
func (h *holding) begin(b *driver.Bound, blocks []int) error {
	h.holdMu.Lock()
	defer h.holdMu.Unlock()
	for _, i := range blocks {
		if _, ok := h.began[i]; ok {
			continue
		}
		h.began[i] = true
		if i == sched.ParamSet {
			continue // the device's
		}
		if err := b.Note(driver.NoteClaim, h.owner(), h.noteRange(i)); err != nil {
			return err
		}
	}
	return nil
}

// handOn gives blocks to the next ticket; their last use has been enqueued.
func (h *holding) handOn(blocks ...int) error {
	h.Step("before handing on")
	if err := h.end(blocks); err != nil {
		return err
	}
	return h.ticket.HandOn(blocks...)
}

// endRest notes that the scheduler is about to hand on what is left.
func (h *holding) endRest() error {
	h.holdMu.Lock()
	var rest []int
	for i, using := range h.began {
		if using && i != sched.ParamSet {
			rest = append(rest, i)
		}
	}
	h.holdMu.Unlock()
	return h.end(rest)
}

func (h *holding) end(blocks []int) error {
	if !h.Driver.Device().Simulated() {
		return nil
	}
	h.holdMu.Lock()
	defer h.holdMu.Unlock()
	var ranges []driver.Range
	for _, i := range blocks {
		h.began[i] = false
		ranges = append(ranges, h.noteRange(i))
	}
	return h.Watch.Do(func(b *driver.Bound) error {
		return b.Note(driver.NoteHandOn, h.owner(), ranges...)
	})
}

func (h *holding) noteRange(i int) driver.Range {
	r := h.block(i)
	return driver.Range{Base: driver.DevicePtr(r.Addr), Bytes: r.Bytes, Mode: driver.ReadWrite}
}

// tablesFor makes the twiddles of a domain, at their first use enqueueing the
// kernels that fill them. For the job in its compute turn.
func (h *holding) tablesFor(ctx context.Context, logSize uint32) (launch.Tables, error) {
	set := h.Tables[logSize]
	if set == nil {
		set = &devcontext.TableSet{}
		h.Tables[logSize] = set
	}
	if set.Filled {
		return set.Tables, nil
	}
	err := h.ticket.Enqueue(ctx, sched.Compute, func() error {
		return h.On(sched.Compute, func(b *driver.Bound, st driver.Stream) (err error) {
			memory := h.TableAt(logSize)
			if memory.Bytes == 0 {
				memory.Bytes = launch.TableBytes(logSize)
				if set.Memory == 0 {
					if set.Memory, err = b.MemAlloc(memory.Bytes); err != nil {
						return err
					}
				}
				memory.Addr = uint64(set.Memory)
			}
			tables, calls := launch.NewTables(logSize, memory)
			set.Tables = tables
			return h.Kernels.Enqueue(b, st, calls)
		})
	})
	set.Filled = err == nil
	return set.Tables, err
}

// reportSpans is report for a job that has ended, whether it came to claim or
// not.
func (h *holding) reportSpans() {
	if h == nil || h.spans == nil {
		return
	}
	sched.MayWait("the job's time stamps")
	// What fails here has been noticed by the job.
	_ = h.Stamps.Thread.Do(h.Driver, h.spans.Report)
}
