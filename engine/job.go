package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/libcuzk/libcuzk/engine/groth16"
	"github.com/libcuzk/libcuzk/engine/timeline"
	"github.com/libcuzk/libcuzk/internal/sched"
)

// Partition is one proof to make: an assignment with its blinding scalars,
// which must be uniform for zero knowledge.
type Partition struct {
	Assignment *Assignment
	R, S       fr.Element
}

// Job is a started call: partitions of one parameter set. The memory of its
// assignments is read until Done is closed; rows A and B only until WaitRows
// returns nil.
type Job struct {
	id     uint64
	engine *Engine
	set    *paramSet // acquired until the job ends
	opt    ProveOptions
	ctx    context.Context
	cancel context.CancelCauseFunc

	done chan struct{} // closed when left reaches 0

	stages []stageTimes // one a partition

	mu        sync.Mutex
	reading   int           // guarded by mu; partitions whose A and B are still read
	rowsRead  chan struct{} // guarded by mu; closed while reading is 0
	rowsFreed bool          // guarded by mu; WaitRows returned nil: the caller may have freed A and B

	left   int     // guarded by mu; partitions without an outcome
	err    error   // guarded by mu; the first failure
	proofs []Proof // guarded by mu until done is closed
}

// partition is one element of a job on its way to a worker.
type partition struct {
	job      *Job
	index    int
	in       Partition
	device   *device                  // written under job.mu, before a worker of it takes the partition
	entry    *sched.Entry[*partition] // guarded by job.mu; set once queued
	tried    []*device                // that were lost under it; belongs to the worker that carries it
	lost     error                    // why it was moved on; belongs to the worker that carries it
	read     bool                     // guarded by job.mu; A and B are no longer read
	stages   *stageTimes              // in job.stages
	queued   time.Time
	by       *sched.Carried      // set by carry
	taken    time.Time           // when the worker that carries it took it
	timeline *timeline.Partition // set by the worker that carries it
}

var jobIDs atomic.Uint64

// Start validates parts against s and queues them. A mistake in any of them
// is returned here, with its index, and nothing is started. ctx ending
// cancels the job. No partitions is a job that is done at once.
//
// Errors: those of groth16.Validate, ErrReleased, ErrNoDevice, ErrOption,
// ErrClosed.
func (e *Engine) Start(ctx context.Context, s *SRS, parts []Partition, opt ProveOptions) (*Job, error) {
	if s == nil {
		return nil, fmt.Errorf("%w: the parameter set is nil", ErrOption)
	}
	set, err := s.acquire(e)
	if err != nil {
		return nil, err
	}
	j, err := e.newJob(ctx, set, parts, opt)
	if err != nil {
		set.release()
		return nil, err
	}
	j.queueAll(parts)
	return j, nil
}

// MaxPartitions is how many a job may have: each is looked at before Start returns,
// in some 20 us.
const MaxPartitions = 4096

func (e *Engine) newJob(ctx context.Context, set *paramSet, parts []Partition, opt ProveOptions) (*Job, error) {
	if !opt.Priority.Valid() {
		return nil, fmt.Errorf("%w: priority is %d, expected %d to %d", ErrOption, opt.Priority, PriorityDefault, PriorityCritical)
	}
	if _, err := e.chooseDevice(opt.Device); err != nil {
		return nil, err
	}
	if len(parts) > MaxPartitions {
		return nil, fmt.Errorf("%w: %d partitions, at most %d in a job", groth16.ErrSize, len(parts), MaxPartitions)
	}
	for i := range parts {
		if err := validate(&parts[i], set.params.Counts()); err != nil {
			return nil, fmt.Errorf("partition %d: %w", i, err)
		}
	}
	j := &Job{
		id: jobIDs.Add(1), engine: e, set: set, opt: opt,
		rowsRead: make(chan struct{}), done: make(chan struct{}),
		reading: len(parts), left: len(parts), proofs: make([]Proof, len(parts)), stages: make([]stageTimes, len(parts)),
	}
	j.ctx, j.cancel = context.WithCancelCause(ctx)

	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		j.cancel(errClosed)
		return nil, errClosed
	}
	e.jobs[j] = struct{}{}
	e.ended.Add(1)
	return j, nil
}

func validate(p *Partition, counts groth16.Counts) error {
	if p.Assignment == nil {
		return fmt.Errorf("%w: the assignment is nil", ErrOption)
	}
	if err := groth16.Validate(p.Assignment, counts); err != nil {
		return err
	}
	for _, blinding := range []struct {
		name  string
		value *fr.Element
	}{{"r", &p.R}, {"s", &p.S}} {
		if err := groth16.CheckScalar(blinding.name, -1, blinding.value); err != nil {
			return err
		}
	}
	return nil
}

// queueAll hands every partition to a device. Failing to queue one is that
// partition's outcome.
func (j *Job) queueAll(parts []Partition) {
	if len(parts) == 0 {
		close(j.rowsRead)
		j.end()
		return
	}
	queued := make([]*partition, len(parts))
	for i := range parts {
		p := &partition{job: j, index: i, in: parts[i], stages: &j.stages[i]}
		queued[i] = p
		d, err := j.engine.chooseDevice(j.opt.Device)
		if err != nil {
			p.fail(err)
			continue
		}
		if err := p.queueOn(d); err != nil {
			p.fail(err)
		}
	}
	// A cancelled job's waiting partitions answer at once instead of waiting
	// for a worker.
	context.AfterFunc(j.ctx, func() {
		if j.ended() {
			return
		}
		for _, p := range queued {
			p.leaveQueue()
		}
	})
}

// queueOn gives the partition to a device. It counts in the device's backlog
// until it ends or moves to another device. After an error nothing has changed.
func (p *partition) queueOn(d *device) error {
	// The lock is held throughout. The worker that takes the partition may move
	// it, and then entry must be that of the last device. It may also end the
	// job: that waits for the lock, so that the counts are complete.
	p.job.mu.Lock()
	defer p.job.mu.Unlock()
	before := p.device
	p.device, p.queued = d, time.Now()
	d.backlog.Add(1)
	entry, err := d.push(p, p.job.opt.Priority)
	if err != nil {
		d.backlog.Add(-1)
		p.device = before
		return err
	}
	p.entry = entry
	if before != nil {
		before.backlog.Add(-1)
		before.counters.moved.Add(1)
	}
	return nil
}

// leaveQueue fails the partition of a stopped job if no worker has taken it.
func (p *partition) leaveQueue() {
	p.job.mu.Lock()
	d, entry := p.device, p.entry
	p.job.mu.Unlock()
	if entry != nil && d.queue.Remove(entry) {
		p.fail(p.job.stopped())
	}
}

func (p *partition) fail(err error) {
	p.rowsRead()
	p.job.finish(p, Proof{}, err)
}

// rowsRead notes that A and B of this partition are no longer read. It does
// nothing if that has been noted.
func (p *partition) rowsRead() {
	j := p.job
	j.mu.Lock()
	defer j.mu.Unlock()
	if p.read {
		return
	}
	p.read = true
	j.reading--
	if j.reading == 0 {
		close(j.rowsRead)
	}
}

// rowsNeeded reports whether A and B may be read again. It cancels the event
// rowsRead, unless WaitRows has told the caller of it.
func (p *partition) rowsNeeded() bool {
	j := p.job
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case j.rowsFreed:
		return false
	case !p.read:
		return true
	}
	p.read = false
	if j.reading == 0 {
		j.rowsRead = make(chan struct{})
	}
	j.reading++
	return true
}

// allRowsRead reports whether A and B of all partitions have been read. If not,
// it also returns a channel that is closed when the answer may have changed.
// After true, rowsNeeded is false for every partition.
func (j *Job) allRowsRead() (bool, <-chan struct{}) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.rowsFreed = j.rowsFreed || j.reading == 0
	return j.rowsFreed, j.rowsRead
}

// finish records one partition's outcome. The first failure stops the others.
func (j *Job) finish(p *partition, proof Proof, err error) {
	j.mu.Lock()
	outcome := outcomeOf(err)
	if j.err != nil && errors.Is(err, j.err) {
		outcome = OutcomeCancelled // stopped by another partition's failure
	}
	if err == nil {
		j.proofs[p.index] = proof
	} else if j.err == nil {
		j.err = fmt.Errorf("partition %d: %w", p.index, err)
	}
	first := j.err
	// Before this or another partition can end the job and answer its waiters.
	if p.device != nil {
		p.device.backlog.Add(-1)
		p.device.counters.ended(outcome)
	}
	// With them, a proof tells sums over the witness.
	p.in.R, p.in.S = fr.Element{}, fr.Element{}
	j.left--
	last := j.left == 0
	j.mu.Unlock()
	if last {
		j.end()
	} else if first != nil {
		j.cancel(first)
	}
}

// end releases everything that the job held and answers its waiters.
func (j *Job) end() {
	j.cancel(nil)
	j.set.release()
	e := j.engine
	e.mu.Lock()
	delete(e.jobs, j)
	e.mu.Unlock()
	close(j.done)
	e.ended.Done()
}

func (j *Job) ended() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.left == 0
}

// Done is closed when the job has ended and no longer reads its memory.
func (j *Job) Done() <-chan struct{} { return j.done }

// Wait returns the proofs once all are made, or the job's first error, after
// which its memory is no longer read. When ctx ends first it returns ctx's
// error and the job goes on. May be called any number of times.
func (j *Job) Wait(ctx context.Context) ([]Proof, error) {
	if err := wait(ctx, j.done); err != nil {
		return nil, err
	}
	if j.err != nil {
		return nil, j.err
	}
	return slices.Clone(j.proofs), nil
}

// WaitRows returns nil once no A or B of the job is read any more, whatever
// its outcome, or ctx's error. A job whose device is lost can then no longer be
// started anew: it fails with ErrDeviceLost.
func (j *Job) WaitRows(ctx context.Context) error {
	for {
		read, changed := j.allRowsRead()
		if read {
			return nil
		}
		if err := wait(ctx, changed); err != nil {
			return err
		}
	}
}

// Stages are the durations, in seconds, of the stages that partition i went
// through, by the names that its back end gives them. Complete once Done is
// closed.
func (j *Job) Stages(i int) map[string]float64 { return j.stages[i].snapshot() }

// Cancel asks the job to stop. It does not wait: memory is in use until Done.
func (j *Job) Cancel() { j.stop(ErrCancelled) }

func (j *Job) stop(reason error) { j.cancel(reason) }

// stopped is why the job should not go on, or nil.
func (j *Job) stopped() error {
	if j.ctx.Err() == nil {
		return nil
	}
	cause := context.Cause(j.ctx)
	if errors.Is(cause, context.Canceled) || errors.Is(cause, context.DeadlineExceeded) {
		return fmt.Errorf("%w: %w", ErrCancelled, cause)
	}
	return cause
}

// Prove is Start and Wait for one partition. When ctx ends it cancels the job
// and returns once the assignment is no longer read. Errors: those of Start;
// ErrCancelled, ErrUnsatisfied, groth16.ErrScalarRange, and those of devices:
// ErrDevice, ErrDeviceLost, ErrDeviceMemory, ErrHostMemory, ErrInternal.
func (e *Engine) Prove(ctx context.Context, s *SRS, part Partition, opt ProveOptions) (Proof, error) {
	j, err := e.Start(ctx, s, []Partition{part}, opt)
	if err != nil {
		return Proof{}, err
	}
	proofs, err := j.Wait(context.WithoutCancel(ctx))
	if err != nil {
		return Proof{}, err
	}
	return proofs[0], nil
}

// wait prefers done over an ended ctx, so that a poll with an expired ctx
// sees a finished job.
func wait(ctx context.Context, done <-chan struct{}) error {
	select {
	case <-done:
		return nil
	default:
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
