package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/libcuzk/libcuzk/engine/backend"
	"github.com/libcuzk/libcuzk/engine/groth16"
	"github.com/libcuzk/libcuzk/engine/srs"
	"github.com/libcuzk/libcuzk/engine/timeline"
	"github.com/libcuzk/libcuzk/internal/sched"
)

// carry proves one partition and gives its job the outcome, whatever it is.
// A partition that was taken from the queue is always carried to its end.
func (d *device) carry(by *sched.Carried, p *partition) {
	start := time.Now()
	p.by, p.taken = by, start
	p.timeline = &timeline.Partition{Track: d.trackOf(by), Job: p.job.id, Index: p.index}
	p.timeline.SpanIn(d.waits, backend.StageQueue, p.queued, start)
	d.counters.stage(backend.StageQueue, start.Sub(p.queued).Seconds())
	proof, err := d.prove(p)
	p.timeline.Span("partition", p.taken, time.Now())
	if d.moveOn(p, err) {
		return
	}
	err = p.withLoss(err)
	p.rowsRead()
	log := d.engine.log.With("job", p.job.id, "partition", p.index, "device", d.info.Name, "seconds", time.Since(start).Seconds())
	switch {
	case err == nil:
		log.Debug("proved", "stages", p.stages.snapshot())
		d.avoidance.Store(nil)
	case p.job.stopped() != nil: // cancelled, closed, or failed elsewhere
		log.Debug("stopped", "reason", err)
	default:
		log.Error("failed", "error", err)
	}
	p.job.finish(p, proof, err)
}

// trackOf is the track of the worker that carries a partition.
func (d *device) trackOf(by *sched.Carried) *timeline.Track {
	return d.tracks.Track(timeline.Host, fmt.Sprintf("worker %d", by.Worker()+1))
}

// park calls wait, which waits for the partition's parameter set. The worker
// carries others meanwhile.
func (p *partition) park(wait func() error) error {
	d := p.device
	begin := time.Now()
	p.timeline.Span("partition", p.taken, begin)
	err := p.by.Park(p.job.ctx, wait)
	p.taken = time.Now()
	p.timeline.SpanIn(d.waits, backend.StageParameters, begin, p.taken)
	p.stages.add(backend.StageParameters, p.taken.Sub(begin).Seconds())
	d.counters.stage(backend.StageParameters, p.taken.Sub(begin).Seconds())
	if p.by.Worker() >= 0 {
		p.timeline.Track = d.trackOf(p.by)
	}
	return err
}

// prove is the partition's way through the back end. A panic anywhere below
// fails this partition alone.
func (d *device) prove(p *partition) (proof Proof, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: panic: %v\n%s", ErrInternal, r, debug.Stack())
		}
	}()
	ctx := p.job.ctx
	if err := p.job.stopped(); err != nil {
		return Proof{}, err
	}
	sums, err := d.sums(ctx, p)
	if err != nil {
		d.outOfUse(err)
		// The reason for stopping says more than the context's error.
		if stop := p.job.stopped(); stop != nil {
			err = stop
		}
		return Proof{}, err
	}
	proof, err = p.finish(sums)
	if stop := p.job.stopped(); stop != nil {
		return Proof{}, stop
	}
	return proof, err
}

func (d *device) sums(ctx context.Context, p *partition) (*groth16.Sums, error) {
	opened := p.timeline.Begin("open")
	dev, done, err := d.use(ctx)
	opened()
	if err != nil {
		return nil, err
	}
	defer done()
	set := p.job.set
	if !set.isLoadedOn(d, dev) {
		if err := p.park(func() error { return set.loadOn(ctx, d, dev) }); err != nil {
			return nil, err
		}
	}
	return dev.Prove(ctx, &backend.Partition{
		Params:     p.job.set.params,
		Assignment: p.in.Assignment,
		RowsRead:   p.rowsRead,
		RowsNeeded: p.rowsNeeded,
		Stage:      p.stageEnded,
		Timeline:   p.timeline,
		Park:       p.park,
	})
}

// finish makes the proof of the sums and checks it.
func (p *partition) finish(sums *groth16.Sums) (Proof, error) {
	set := p.job.set
	assembled := p.timeline.Begin("assemble")
	proof, err := groth16.Assemble(set.params.VerifyingKey(), sums, &p.in.R, &p.in.S)
	assembled()
	if err != nil {
		return Proof{}, err
	}
	if !p.job.opt.SkipSelfCheck {
		if err := p.selfCheck(set, proof); err != nil {
			return Proof{}, err
		}
	}
	return *proof, nil
}

func (p *partition) selfCheck(set *paramSet, proof *Proof) error {
	start := time.Now()
	key, err := set.preparedKey()
	if err != nil {
		return err
	}
	err = key.Verify(p.in.Assignment.Inputs, proof)
	p.stageEnded(backend.StageSelfCheck, time.Since(start).Seconds())
	if errors.Is(err, groth16.ErrProofPoint) {
		// A sum of points of the subgroup lies in it, so a point of the file does not.
		return fmt.Errorf("the file has a point like this, which opening it with a check of every point would name: %w (%v)", srs.ErrNotInSubgroup, err)
	}
	if errors.Is(err, groth16.ErrProofInvalid) {
		// A and B may have been freed since they were read.
		const readRows = false
		return fmt.Errorf("%w: %w", ErrUnsatisfied, groth16.Explain(err, p.in.Assignment, readRows))
	}
	return err
}

// stageTimes collects the durations that a back end reports.
type stageTimes struct {
	mu      sync.Mutex
	seconds map[string]float64 // guarded by mu; a stage that runs twice adds up
}

func (t *stageTimes) add(name string, seconds float64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.seconds == nil {
		t.seconds = map[string]float64{}
	}
	t.seconds[name] += seconds
}

func (t *stageTimes) snapshot() map[string]float64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	copied := make(map[string]float64, len(t.seconds))
	for name, s := range t.seconds {
		copied[name] = s
	}
	return copied
}
