package cuda

import (
	"context"
	"errors"
	"fmt"

	"github.com/libcuzk/libcuzk/cuda/driver"
	"github.com/libcuzk/libcuzk/cuda/internal/devcontext"
	"github.com/libcuzk/libcuzk/cuda/internal/plan"
	"github.com/libcuzk/libcuzk/engine/timeline"
	"github.com/libcuzk/libcuzk/internal/launch"
	"github.com/libcuzk/libcuzk/internal/sched"
)

// A job's sums over the witness do not depend on its quotient, and many of
// their kernels are too small to fill a card. So they run on streams beside the
// compute stream: they begin where it forks and it waits for them where it
// joins. To the scheduler they are part of the compute stream; whatever
// happens in between, a fork is followed by a join.

// fork makes the side streams wait for what has been enqueued on the compute
// stream.
func (j *job) fork(ctx context.Context) error {
	return j.lane(ctx, sched.Compute).Enqueue(func(b *driver.Bound, s driver.Stream) error {
		e, err := j.mark(b, s)
		if err != nil {
			return err
		}
		j.forked = true
		for _, side := range j.Sides {
			if err := b.Wait(side, e); err != nil {
				return err
			}
		}
		return nil
	}, j.withSet(plan.BlockWitness, plan.BlockScratch)...)
}

// enqueueBranches enqueues the sums over the witness on the side streams, or
// all on the first if the job streams its set: they share their scratch.
func (j *job) enqueueBranches(ctx context.Context, inputs uint32, first bool) error {
	for i, of := range plan.Branches {
		calls, err := j.branch(of, inputs, first)
		if err != nil {
			return err
		}
		j.device.launched.Add(int64(len(calls)))
		err = plan.InHolds(calls, func(calls []launch.Call) error {
			return j.lane(ctx, sched.Compute).Enqueue(func(b *driver.Bound, compute driver.Stream) error {
				if j.plan.Streams {
					i = 0
				}
				side, row := j.Sides[i], devcontext.TrackSide(i)
				if j.Kernels.Timer != nil {
					side, row = compute, devcontext.TrackKernels // one after the other, so that each kernel's time is its own
				}
				return j.spans.Around(b, side, timeline.Kernels, row, "sum "+of.String(), func() error {
					return j.Kernels.Enqueue(b, side, calls)
				})
			}, j.withSet(plan.BlockWitness, plan.BlockScratch)...)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// join makes the compute stream wait for the side streams.
func (j *job) join(ctx context.Context) error {
	return j.lane(ctx, sched.Compute).Enqueue(j.joinSides, j.withSet(plan.BlockWitness, plan.BlockScratch)...)
}

func (j *job) joinSides(b *driver.Bound, compute driver.Stream) error {
	for _, side := range j.Sides {
		e, err := j.mark(b, side)
		if err != nil {
			return err
		}
		if err := b.Wait(compute, e); err != nil {
			return err
		}
	}
	j.forked = false
	return nil
}

// mark records an event of the job on a stream.
func (j *job) mark(b *driver.Bound, s driver.Stream) (driver.Event, error) {
	e, err := j.Event(b)
	if err != nil {
		return 0, err
	}
	j.events = append(j.events, e)
	return e, b.Record(e, s)
}

// joinAnyway joins for a job that failed between fork and join, so that its
// fences cover the side streams. If that fails too nobody knows any more when
// they end, and the card counts as lost.
func (j *job) joinAnyway() error {
	if !j.forked {
		return nil
	}
	// Not under the job's context, which may have ended.
	return j.ticket.Enqueue(context.Background(), sched.Compute, func() error {
		err := j.On(sched.Compute, j.joinSides)
		if err != nil && !errors.Is(err, sched.ErrDeviceLost) {
			err = fmt.Errorf("%w: joining streams after a failure: %w", sched.ErrDeviceLost, err)
		}
		return err
	})
}

// withSet is blocks, and the parameter set if it lies on the card.
func (j *job) withSet(blocks ...int) []int {
	if j.plan.Streams {
		return blocks
	}
	return append(blocks, sched.ParamSet)
}
