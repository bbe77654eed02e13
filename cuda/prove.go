package cuda

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"sync/atomic"

	"github.com/libcuzk/libcuzk/cuda/driver"
	"github.com/libcuzk/libcuzk/cuda/internal/devcontext"
	"github.com/libcuzk/libcuzk/cuda/internal/plan"
	"github.com/libcuzk/libcuzk/cuda/internal/registered"
	"github.com/libcuzk/libcuzk/cuda/internal/staging"
	"github.com/libcuzk/libcuzk/engine/backend"
	"github.com/libcuzk/libcuzk/engine/groth16"
	"github.com/libcuzk/libcuzk/engine/timeline"
	"github.com/libcuzk/libcuzk/internal/launch"
	"github.com/libcuzk/libcuzk/internal/sched"
)

// Prove implements backend.Device.
func (d *device) Prove(ctx context.Context, task *backend.Partition) (sums *groth16.Sums, err error) {
	defer func() { err = ofKind(err) }()
	var given atomic.Bool // A and B were given back
	read := func() {
		if given.CompareAndSwap(false, true) {
			task.RowsRead()
		}
	}
	defer read()
	again := func() bool {
		if !given.Load() {
			return true
		}
		if task.RowsNeeded == nil || !task.RowsNeeded() {
			return false
		}
		given.Store(false)
		return true
	}
	done, err := d.begin()
	if err != nil {
		return nil, err
	}
	defer done()
	r, err := d.setFor(task.Params)
	if err != nil {
		return nil, err
	}
	run := func() error {
		j := &job{device: d, set: r, task: task, read: read}
		err := j.run(ctx)
		sums = j.sums
		return err
	}
	err = d.withMemory(ctx, again, func() error { return d.withRecovery(ctx, again, run) })
	if err != nil {
		return nil, err
	}
	return sums, nil
}

// job is one partition on its way through the card.
type job struct {
	device *device
	set    *cardSet
	task   *backend.Partition
	read   func() // to be called when A and B have been read

	*holding            // set when the job has claimed
	plan     *plan.Plan // of the tier that it was claimed in
	logSize  uint32     // of the domain
	tokens   int        // of device.enqueued that it holds
	layout   plan.Witness
	list     *staging.DenseList

	onHost *registered.Points                  // if the job may stream the set: readable until it has ended
	hostAt [len(plan.AllSections)]launch.Range // of a job that streams: where kernels find the sections

	forked bool           // side streams may run; belongs to the compute turn
	events []driver.Event // used for forks and joins

	round    *round // the one being enqueued
	rounds   []*round
	sums     *groth16.Sums
	sections sections
}

// run takes the job through the scheduler.
func (j *job) run(ctx context.Context) error {
	j.logSize = uint32(bits.TrailingZeros(uint(groth16.Domain(len(j.task.Assignment.A)))))
	need, points, done, err := j.device.needOf(ctx, j.set, j.task.Park)
	defer func() {
		if !j.device.hangs() {
			done() // nothing of the job runs any more
		}
	}()
	if err != nil {
		return err
	}
	j.onHost = points
	err = j.device.jobs.Run(ctx, need, sched.Work{
		Fill: j.device.fill(j.set),
		Park: j.task.Park,
		Upload: func(ctx context.Context, t *sched.Ticket) error {
			j.claimed(t)
			return orElse(func() error { return j.upload(ctx) }, j.endRest)
		},
		Compute: func(ctx context.Context, _ *sched.Ticket) error {
			return orElse(func() error { return j.compute(ctx) }, j.joinAnyway, j.endRest)
		},
		Finish:   func(ctx context.Context, _ *sched.Ticket) error { return j.finish(ctx) },
		Stage:    j.task.Stage,
		Timeline: j.task.Timeline,
	})
	j.holding.reportSpans()
	for range j.tokens {
		<-j.device.enqueued
	}
	// Nothing of the job runs any more: its pinned buffers may be used again.
	for _, r := range j.rounds {
		j.Results.Put(r.host)
	}
	for _, e := range j.events {
		j.Destroy(sched.Event(e))
	}
	return err
}

// orElse runs do, and what has to follow if it fails or panics: the scheduler
// hands the job's blocks on next, at the tails of streams that are then joined.
func orElse(do func() error, then ...func() error) (err error) {
	done := false
	defer func() {
		if done && err == nil {
			return
		}
		for _, f := range then {
			err = errors.Join(err, f())
		}
	}()
	err = do()
	done = true
	return err
}

// claimed notes what the job got.
func (j *job) claimed(t *sched.Ticket) {
	j.holding = holdingOf(j.device.current.Load(), t)
	j.spans = j.Measure(j.task.Timeline)
	if j.plan = j.set.Streaming; t.Resident() {
		j.plan = j.set.Resident
	}
	p := j.plan
	witness := j.block(plan.BlockWitness)
	j.layout = p.Layout(witness.Addr, p.Capacity)
	inputBytes := uint64(p.Inputs) * launch.FrBytes
	j.list = &staging.DenseList{
		Indices:  j.layout.Indices,
		Values:   j.layout.Values.Slice(inputBytes, j.layout.Values.Bytes-inputBytes),
		Capacity: int(p.Capacity),
	}
	j.sections = newSections(j.task.Assignment, p.Shape, &j.layout)
}

// upload stages everything that the kernels read, in the upload turn.
func (j *job) upload(ctx context.Context) (err error) {
	if j.plan.Streams {
		j.device.streamed.Add(1)
		if j.hostAt, err = j.onHost.Addresses(j.Registrar); err != nil {
			return devcontext.MarkLost(err)
		}
	}
	a := j.task.Assignment
	pieces := 2 * staging.PiecesOf(len(a.A), staging.SlotScalars)
	var unread atomic.Int64
	unread.Store(int64(pieces))
	read := func() {
		if unread.Add(-1) == 0 {
			j.read()
		}
	}
	return j.Uploads.Send(ctx, j.lane(ctx, sched.Upload),
		staging.Scalars("a", a.A, j.block(plan.BlockA), plan.BlockA, read),
		staging.Scalars("b", a.B, j.block(plan.BlockB), plan.BlockB, read),
		staging.Scalars("inputs", a.Inputs, j.layout.Values, plan.BlockWitness, nil),
		staging.Bitmap(a.AAux, j.layout.AAux.Bitmap, plan.BlockWitness),
		staging.Bitmap(a.BAux, j.layout.BAux.Bitmap, plan.BlockWitness),
		staging.Bitmap(a.BInputs, j.layout.BInputs.Bitmap, plan.BlockWitness),
		j.list.Aux(a.Aux, j.layout.Ones, plan.BlockWitness),
	)
}

// compute enqueues all kernels, in the compute turn. b and c are handed on as
// soon as the quotient no longer needs them, and h when it has been sorted.
func (j *job) compute(ctx context.Context) error {
	// Waits for earlier tickets only, which need nothing but the card to end.
	for range j.plan.Tokens() {
		select {
		case j.device.enqueued <- struct{}{}:
			j.tokens++
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	if err := j.beginRound(ctx); err != nil {
		return err
	}
	if err := j.ranks(ctx); err != nil {
		return err
	}
	if err := j.fork(ctx); err != nil {
		return err
	}
	if err := j.quotient(ctx); err != nil {
		return err
	}
	if err := j.enqueueBranches(ctx, j.plan.Inputs, true); err != nil {
		return err
	}
	sumH := j.sumH
	if j.plan.Streams {
		sumH = j.sumTiles
	}
	if err := sumH(ctx); err != nil {
		return err
	}
	if err := j.endRound(ctx); err != nil {
		return err
	}
	for j.list.IsLeft() {
		if err := j.nextRound(ctx); err != nil {
			return err
		}
	}
	return j.handOn(plan.BlockWitness, plan.BlockScratch)
}

// launch enqueues calls that touch the given blocks; name is the timeline's.
func (j *job) launch(ctx context.Context, name string, calls []launch.Call, blocks ...int) error {
	j.device.launched.Add(int64(len(calls)))
	return plan.InHolds(calls, func(calls []launch.Call) error {
		return j.lane(ctx, sched.Compute).Enqueue(func(b *driver.Bound, s driver.Stream) error {
			return j.spans.Around(b, s, timeline.Kernels, devcontext.TrackKernels, name, func() error {
				return j.Kernels.Enqueue(b, s, calls)
			})
		}, blocks...)
	})
}

// quotient enqueues h, in place of a.
func (j *job) quotient(ctx context.Context) error {
	tables, err := j.tablesFor(ctx, j.logSize)
	if err != nil {
		return err
	}
	rows := func(i int) launch.Range { return j.block(i).Slice(0, launch.FrBytes<<j.logSize) }
	bad, _ := j.round.take(plan.BadBytes)
	q := tables.NewQuotient(rows(plan.BlockA), rows(plan.BlockB), rows(plan.BlockC), bad, uint32(len(j.task.Assignment.A)))
	first := append([]launch.Call{launch.Fill(bad, plan.BadBytes/launch.WordBytes, launch.None)}, q.Rows...)
	if err := j.launch(ctx, "quotient: a, b, c", first, plan.BlockA, plan.BlockB, plan.BlockC, plan.BlockWitness); err != nil {
		return err
	}
	if err := j.handOn(plan.BlockB); err != nil {
		return err
	}
	if err := j.launch(ctx, "quotient: h", q.Combine, plan.BlockA, plan.BlockC); err != nil {
		return err
	}
	return j.handOn(plan.BlockC)
}

// finish waits for the results and joins them.
func (j *job) finish(ctx context.Context) error {
	sums := newTotal()
	for i, r := range j.rounds {
		if err := j.ticket.Await(ctx, r.copied); err != nil {
			return err
		}
		if i == 0 {
			if row := binary.LittleEndian.Uint32(r.host); row != launch.None {
				return fmt.Errorf("cuda: %w: a or b in row %d, seen on the card and not on the way there", groth16.ErrScalarRange, row)
			}
		}
		r.join(sums)
	}
	j.sums = &sums.Sums
	return nil
}
