package cuda

import (
	"context"
	"errors"
	"fmt"

	"github.com/libcuzk/libcuzk/cuda/driver"
	"github.com/libcuzk/libcuzk/cuda/internal/devcontext"
	"github.com/libcuzk/libcuzk/cuda/internal/plan"
	"github.com/libcuzk/libcuzk/cuda/internal/registered"
	"github.com/libcuzk/libcuzk/engine/srs"
	"github.com/libcuzk/libcuzk/internal/launch"
	"github.com/libcuzk/libcuzk/internal/sched"
	"github.com/libcuzk/libcuzk/internal/vram"
)

// cardSet is a parameter set as one card knows it: in the card's memory, or
// streamed from the host's.
type cardSet struct {
	params *srs.Params
	plan.Plans
	set *vram.Set

	// Guarded by device.mu.

	opening int                // calls of Load
	checked bool               // one of them has found all points valid
	onHost  *registered.Points // nil until a partition has to stream the set
}

// setFor finds or makes the record of p. It fails with *vram.TooLargeError if
// no job of it can ever fit, in neither tier.
func (d *device) setFor(p *srs.Params) (*cardSet, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.setForLocked(p)
}

func (d *device) setForLocked(p *srs.Params) (*cardSet, error) {
	if r := d.sets[p]; r != nil {
		return r, nil
	}
	s := plan.ShapeOf(p.Counts())
	if s.LogSize > launch.MaxLogSize {
		return nil, fmt.Errorf("cuda: parameters %s: domain of 2^%d, at most 2^%d", p.Name(), s.LogSize, launch.MaxLogSize)
	}
	_, bytes := s.Sections(0)
	set := vram.NewSet(p.Name(), bytes)
	plans, err := plan.New(s, set, d.options.limits(), d.jobs.Check)
	if err != nil {
		return nil, fmt.Errorf("cuda: %s: parameters %s of %d bytes: no job fits, neither beside them nor with them streamed from host memory: %w%s",
			d.card.String(), p.Name(), bytes, err, d.budgetText())
	}
	r := &cardSet{params: p, Plans: plans, set: set}
	d.sets[p] = r
	return r, nil
}

// Load implements backend.Device: the points go to the card, where they are
// converted and checked; or, if they have to be streamed, to pinned host memory,
// and that on the CPU. A set that was evicted since is loaded again for the
// partition that needs it, or streamed.
func (d *device) Load(ctx context.Context, p *srs.Params) (err error) {
	defer func() { err = ofKind(err) }()
	done, err := d.begin()
	if err != nil {
		return err
	}
	defer done()
	r, err := d.beginOpening(p)
	if r == nil || err != nil {
		return err
	}
	err = d.check(ctx, r)
	d.endOpening(r, err == nil)
	return err
}

// beginOpening finds or makes the record of p, for a call of Load; nil: p has been
// loaded before.
func (d *device) beginOpening(p *srs.Params) (*cardSet, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	r, err := d.setForLocked(p)
	if err != nil || r.checked {
		return nil, err
	}
	r.opening++
	return r, nil
}

// endOpening ends what beginOpening has begun. When the last of several calls has
// failed, nobody knows the set: it leaves nothing on the device.
func (d *device) endOpening(r *cardSet, ok bool) {
	d.mu.Lock()
	r.opening--
	r.checked = r.checked || ok
	unknown := !r.checked && r.opening == 0
	if unknown && d.sets[r.params] == r {
		delete(d.sets, r.params)
	}
	d.mu.Unlock()
	if unknown {
		d.jobs.Evict(r.set)
		d.letGo(r)
	}
}

// check loads a set for the first time.
func (d *device) check(ctx context.Context, r *cardSet) error {
	if r.params.Options().SubgroupCheck {
		// Done on the CPU, which also finds everything else.
		if _, err := r.params.Points(ctx); err != nil {
			return err
		}
	}
	return d.withRecovery(ctx, func() bool { return true }, func() error {
		if r.Resident != nil && (r.Streaming == nil || d.jobs.Settles(r.Need(r.set))) {
			return d.jobs.Load(ctx, r.Need(r.set), d.fill(r))
		}
		_, done, err := d.stream(ctx, r)
		if err == nil {
			done()
		}
		return err
	})
}

// needOf is what a job that uses r claims. If it may have to stream the set,
// points are there to read until done is called, which is never nil.
//
// The set's host copy, which takes as much host memory as the set has bytes, is
// made only when a job would otherwise push another set out that is in use. It is
// made without a worker.
func (d *device) needOf(ctx context.Context, r *cardSet, park func(func() error) error) (need vram.Need, points *registered.Points, done func(), err error) {
	need, done = r.Need(r.set), func() {}
	if r.Streaming == nil {
		return need, nil, done, nil
	}
	onHost := d.isOnHost(r)
	if r.Resident != nil && !onHost && d.jobs.Settles(need) {
		need.Streaming = nil
		return need, nil, done, nil
	}
	var reading func()
	stream := func() (err error) {
		points, reading, err = d.stream(ctx, r)
		return err
	}
	if onHost || park == nil {
		err = stream()
	} else {
		err = park(stream)
	}
	if reading != nil {
		done = reading // also after an error of park itself
	}
	return need, points, done, err
}

// stream makes r's points readable from host memory, until done is called.
func (d *device) stream(ctx context.Context, r *cardSet) (points *registered.Points, done func(), err error) {
	if err := d.keepOnHost(r); err != nil {
		return nil, nil, err
	}
	// A hold of the task's own: the set may be dropped meanwhile.
	points, err = registered.Acquire(r.params)
	if err != nil {
		return nil, nil, err
	}
	session := d.current.Load()
	reading, err := points.Read(ctx, session.Registrar)
	if err != nil {
		err = errors.Join(err, points.Release())
		if d.current.Load() == session && !errors.Is(err, driver.ErrClosed) {
			return nil, nil, d.jobs.Noted(devcontext.MarkLost(err))
		}
		// The card is being reset, or has been meanwhile.
		return nil, nil, fmt.Errorf("%w: %s: %w", sched.ErrDeviceLost, d.card.String(), err)
	}
	return points, func() {
		reading()
		// What the driver refuses to unpin goes with the context.
		_ = points.Release()
	}, nil
}

// keepOnHost keeps the points in host memory for as long as the card knows r.
func (d *device) keepOnHost(r *cardSet) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if r.onHost != nil || d.sets[r.params] != r {
		return nil
	}
	var err error
	r.onHost, err = registered.Acquire(r.params)
	return err
}

func (d *device) isOnHost(r *cardSet) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return r.onHost != nil && r.onHost.IsRegistered()
}

// letGo ends keepOnHost.
func (d *device) letGo(r *cardSet) {
	d.mu.Lock()
	points := r.onHost
	r.onHost = nil
	d.mu.Unlock()
	if points != nil {
		_ = points.Release() // as in stream
	}
}

// Drop implements backend.Device.
func (d *device) Drop(p *srs.Params) {
	d.mu.Lock()
	r := d.sets[p]
	delete(d.sets, p)
	d.mu.Unlock()
	if r != nil {
		d.jobs.Evict(r.set)
		d.letGo(r)
	}
}
