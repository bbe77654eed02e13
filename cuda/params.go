package cuda

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/libcuzk/libcuzk/cuda/driver"
	"github.com/libcuzk/libcuzk/cuda/internal/plan"
	"github.com/libcuzk/libcuzk/cuda/internal/registered"
	"github.com/libcuzk/libcuzk/cuda/internal/staging"
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

	token   chan struct{} // held by the goroutine that loads
	checked bool          // belongs to the holder of token: all points were valid

	onHost *registered.Points // guarded by device.mu; nil until a job has to stream it
}

// setFor finds or makes the record of p. It fails with *vram.TooLargeError if
// no job of it can ever fit, in neither tier.
func (d *device) setFor(p *srs.Params) (*cardSet, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
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
	r := &cardSet{params: p, Plans: plans, set: set, token: make(chan struct{}, 1)}
	d.sets[p] = r
	return r, nil
}

// Load implements backend.Device: the points go to the card, where they are
// converted and checked; or, if they have to be streamed, to pinned host memory,
// and that on the CPU. A set that was evicted since is loaded again by the job
// that needs it, or streamed.
func (d *device) Load(ctx context.Context, p *srs.Params) (err error) {
	defer func() { err = ofKind(err) }()
	done, err := d.begin()
	if err != nil {
		return err
	}
	defer done()
	r, err := d.setFor(p)
	if err != nil {
		return err
	}
	select {
	case r.token <- struct{}{}:
		defer func() { <-r.token }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if r.checked {
		return nil
	}
	err = d.check(ctx, r)
	if r.checked = err == nil; !r.checked {
		d.forget(r)
	}
	return err
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
			return d.load(ctx, r)
		}
		_, done, err := d.stream(ctx, r)
		if err == nil {
			done()
		}
		return err
	})
}

// forget drops the record of a set that was never usable: nobody will call
// Drop for it.
func (d *device) forget(r *cardSet) {
	d.mu.Lock()
	if d.sets[r.params] == r {
		delete(d.sets, r.params)
	}
	d.mu.Unlock()
	d.letGo(r)
}

// load claims the set's place in a job of its own, which does nothing else.
func (d *device) load(ctx context.Context, r *cardSet) error {
	const blockStatus = 0
	need := vram.Need{
		Resident: []vram.Request{blockStatus: {Bytes: uint64(len(plan.AllSections)) * plan.SectionStatusBytes, Exact: true}},
		Set:      r.set,
	}
	var f *filling
	err := d.jobs.Run(ctx, need, sched.Work{
		Upload: func(ctx context.Context, t *sched.Ticket) (err error) {
			if !t.NeedsLoad() {
				return nil
			}
			h := d.current.Load().holdingOf(t)
			f, err = h.fillSet(ctx, r, h.block(blockStatus), blockStatus)
			return errors.Join(err, h.endRest())
		},
		Finish: func(ctx context.Context, t *sched.Ticket) error { return f.finish(ctx, t, d) },
	})
	f.release()
	return err
}

// needOf is what a job that uses r claims. If it may have to stream the set,
// points are there to read until done is called, which is never nil.
//
// The set's host copy, which takes as much host memory as the set has bytes, is
// made only when a job would otherwise push another set out that is in use.
func (d *device) needOf(ctx context.Context, r *cardSet) (need vram.Need, points *registered.Points, done func(), err error) {
	need, done = r.Need(r.set), func() {}
	if r.Streaming == nil {
		return need, nil, done, nil
	}
	if r.Resident != nil && !d.isOnHost(r) && d.jobs.Settles(need) {
		need.Streaming = nil
		return need, nil, done, nil
	}
	points, reading, err := d.stream(ctx, r)
	if err != nil {
		return need, nil, done, err
	}
	return need, points, reading, nil
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
	reading, err := points.Read(ctx, session.pins)
	if err != nil {
		err = errors.Join(err, points.Release())
		if d.current.Load() == session && !errors.Is(err, driver.ErrClosed) {
			return nil, nil, d.jobs.Noted(lost(err))
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
		d.jobs.Drop(r.set)
		d.letGo(r)
	}
}

// filling is a parameter set on its way to the card. All methods accept nil.
type filling struct {
	set     *cardSet
	session *session
	status  []byte // pinned
	copied  *sched.Mark
}

// fillSet reads the set's file in the upload turn and enqueues copies and
// conversion, ahead of every use that a later job can enqueue. status is a
// range of the job's block of that number.
func (h *holding) fillSet(ctx context.Context, r *cardSet, status launch.Range, block int) (*filling, error) {
	s := h.session
	f := &filling{set: r, session: s}
	on := h.lane(ctx, sched.Upload)
	err := on.Enqueue(func(b *driver.Bound, st driver.Stream) (err error) {
		if f.status, err = s.results.take(b); err != nil {
			return err
		}
		for i := range plan.AllSections {
			if err := resetStatus(b, st, status.Addr+uint64(i)*plan.SectionStatusBytes); err != nil {
				return err
			}
		}
		return nil
	}, block)
	if err != nil {
		return f, err
	}
	at, _ := r.Resident.Sections(h.block(sched.ParamSet).Addr)
	var segments []staging.Segment
	for i, of := range plan.AllSections {
		segments = append(segments, s.pointsOf(r, of, at[i], status.Slice(uint64(i)*plan.SectionStatusBytes, launch.DecodeStatusBytes)))
	}
	if err := s.loads.Send(ctx, on, segments...); err != nil {
		return f, err
	}
	err = on.Enqueue(func(b *driver.Bound, st driver.Stream) error {
		return b.CopyToHost(f.status[:status.Bytes], driver.DevicePtr(status.Addr), st)
	}, block)
	if err != nil {
		return f, err
	}
	if f.copied, err = h.ticket.Record(sched.Upload); err != nil {
		return f, err
	}
	return f, r.params.Unchanged()
}

// resetStatus enqueues launch.DecodeStatusReset: all ones in the two least
// indices, zero in the counts and in the rest of the status's room.
func resetStatus(b *driver.Bound, s driver.Stream, at uint64) error {
	const indexBytes = 2 * launch.WordBytes
	if err := b.Fill(driver.DevicePtr(at), 0, plan.SectionStatusBytes, s); err != nil {
		return err
	}
	return b.Fill(driver.DevicePtr(at), 0xff, indexBytes, s)
}

// pointsOf is the segment that reads a section's points and converts them.
func (s *session) pointsOf(r *cardSet, of srs.Section, to, status launch.Range) staging.Segment {
	perSlot := staging.SlotBytes / of.PointBytes()
	count, slots := int(r.Resident.Count(of)), int(r.Resident.Slots(of))
	fill := func(piece int, sl *staging.Slot) (staging.Work, error) {
		first := piece * perSlot
		n := min(perSlot, count-first)
		bytes, err := r.params.ReadSection(of, first, n, sl.Memory)
		if err != nil {
			return nil, err
		}
		padding := 0
		if first+n == count {
			padding = slots - count
		}
		var logSize uint32
		if of == srs.SectionH {
			logSize = r.Resident.LogSize
		}
		raw := launch.Range{Addr: uint64(s.decode) + uint64(sl.Index)*staging.SlotBytes, Bytes: staging.SlotBytes}
		convert := launch.Decode(plan.GroupOf(of), raw, to, status, uint32(n), uint32(first), uint32(padding), logSize)
		return staging.InOrder([]staging.Work{
			staging.CopyTo(sl.Memory[:bytes], raw, 0),
			func(b *driver.Bound, st driver.Stream) error {
				return s.kernels.enqueue(b, st, []launch.Call{convert})
			},
		}), nil
	}
	pieces := staging.PiecesOf(count, perSlot)
	if slots > 0 {
		pieces = max(pieces, 1) // h of a domain of one row has only padding
	}
	return staging.Segment{Pieces: pieces, Block: sched.ParamSet, Fill: fill}
}

// finish waits for the conversion and reports points that are not valid. The
// set then leaves the card.
func (f *filling) finish(ctx context.Context, t *sched.Ticket, d *device) error {
	if f == nil {
		return nil
	}
	if err := t.Await(ctx, f.copied); err != nil {
		return err
	}
	for i, of := range plan.AllSections {
		if err := f.fault(of, f.status[i*plan.SectionStatusBytes:]); err != nil {
			d.jobs.Drop(f.set.set)
			return fmt.Errorf("cuda: %s: %w", f.set.params.Name(), err)
		}
	}
	return nil
}

// release gives the pinned status back; the job has ended.
func (f *filling) release() {
	if f != nil && f.status != nil {
		f.session.results.put(f.status)
	}
}

// fault is the error that a section's status tells of.
func (f *filling) fault(of srs.Section, status []byte) error {
	word := func(i int) uint32 { return binary.LittleEndian.Uint32(status[i*launch.WordBytes:]) }
	bad, infinity := word(0), word(1)
	var kinds error
	total := uint32(0)
	for i, kind := range []error{srs.ErrEncoding, srs.ErrNotCanonical, srs.ErrNotOnCurve} {
		if n := word(2 + i); n > 0 {
			total += n
			kinds = errors.Join(kinds, kind)
		}
	}
	switch {
	case total > 0:
		return fmt.Errorf("section %s: point %d is the first of %d that are not valid: %w", of, bad, total, kinds)
	case infinity != launch.None && !f.set.params.Options().AllowInfinity:
		return fmt.Errorf("section %s: point %d: %w", of, infinity, srs.ErrInfinity)
	}
	return nil
}
