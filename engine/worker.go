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
)

// carry proves one partition and gives its job the outcome, whatever it is.
// A partition that was taken from the queue is always carried to its end.
func (d *device) carry(worker int, p *partition) {
	track := d.tracks.Track(timeline.Host, fmt.Sprintf("worker %d", worker+1))
	start := time.Now()
	p.timeline = &timeline.Partition{Track: track, Job: p.job.id, Index: p.index}
	p.timeline.SpanIn(d.waits, backend.StageQueue, p.queued, start)
	d.counters.stage(backend.StageQueue, start.Sub(p.queued).Seconds())
	proof, err := d.prove(p)
	p.timeline.Span("partition", start, time.Now())
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
	loaded := p.timeline.Begin("parameters")
	dev, done, err := d.use(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	err = p.job.set.loadOn(ctx, d, dev)
	loaded()
	if err != nil {
		return nil, err
	}
	return dev.Prove(ctx, &backend.Partition{
		Params:     p.job.set.params,
		Assignment: p.in.Assignment,
		RowsRead:   p.rowsRead,
		RowsNeeded: p.rowsNeeded,
		Stage:      p.stageEnded,
		Timeline:   p.timeline,
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
