package cuda

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/libcuzk/libcuzk/cuda/driver"
	"github.com/libcuzk/libcuzk/cuda/internal/devcontext"
	"github.com/libcuzk/libcuzk/cuda/internal/plan"
	"github.com/libcuzk/libcuzk/cuda/internal/staging"
	"github.com/libcuzk/libcuzk/engine/srs"
	"github.com/libcuzk/libcuzk/internal/launch"
	"github.com/libcuzk/libcuzk/internal/sched"
)

// fill loads a parameter set: it reads the set's file, and enqueues copies and
// conversion on the load stream.
func (d *device) fill(r *cardSet) sched.Fill {
	return func(ctx context.Context, l *sched.Loading) error {
		// The load may outlive whoever wanted it, and the last release of the set.
		if err := r.params.Retain(); err != nil {
			return err
		}
		f := &filling{set: r, context: d.current.Load(), loading: l}
		defer f.end()
		return f.run(ctx)
	}
}

// filling is a parameter set on its way to the device.
type filling struct {
	set     *cardSet
	context *devcontext.Context
	loading *sched.Loading
	noted   bool   // the simulator has been told whose the place is
	status  []byte // pinned; of each section, as the device says it
}

// run returns when the points are on the device and valid.
func (f *filling) run(ctx context.Context) error {
	s, r := f.context, f.set
	status := s.StatusAt()
	on := f.stream(ctx)
	err := on.Enqueue(func(b *driver.Bound, st driver.Stream) (err error) {
		if f.status, err = s.Results.Take(b); err != nil {
			return err
		}
		for i := range plan.AllSections {
			if err := resetStatus(b, st, status.Addr+uint64(i)*plan.SectionStatusBytes); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	at, _ := r.Resident.Sections(f.place().Addr)
	var segments []staging.Segment
	for i, of := range plan.AllSections {
		segments = append(segments, pointsOf(s, r, of, at[i], status.Slice(uint64(i)*plan.SectionStatusBytes, launch.DecodeStatusBytes)))
	}
	if err := s.Loads.Send(ctx, on, segments...); err != nil {
		return err
	}
	err = on.Enqueue(func(b *driver.Bound, st driver.Stream) error {
		return b.CopyToHost(f.status[:status.Bytes], driver.DevicePtr(status.Addr), st)
	})
	if err != nil {
		return err
	}
	if err := r.params.Unchanged(); err != nil {
		return err
	}
	return f.valid(ctx)
}

// place is where the set lies.
func (f *filling) place() launch.Range {
	b := f.loading.Block()
	return launch.Range{Addr: uint64(f.context.At(b.Offset)), Bytes: b.Bytes}
}

// stream is the load stream, on which nothing but the set's place and what the
// context keeps for loads is touched.
func (f *filling) stream(ctx context.Context) staging.Stream {
	s := f.context
	return staging.Stream{
		Enqueue: func(l staging.Work, _ ...int) error {
			return f.loading.Enqueue(ctx, func() error {
				return s.On(sched.Load, func(b *driver.Bound, st driver.Stream) error {
					if err := f.note(b); err != nil {
						return err
					}
					return l(b, st)
				})
			})
		},
		Look: func(l staging.Work) error { return s.On(sched.Load, l) },
	}
}

// note tells the simulator, once, that the place belongs to the device.
func (f *filling) note(b *driver.Bound) error {
	if f.noted {
		return nil
	}
	f.noted = true
	at := f.place()
	return b.Note(driver.NoteClaim, 0, driver.Range{Base: driver.DevicePtr(at.Addr), Bytes: at.Bytes, Mode: driver.ReadWrite})
}

// resetStatus enqueues what a status is before decoding: all ones in the two least
// indices, zero in the counts and in the rest of the status's room.
func resetStatus(b *driver.Bound, s driver.Stream, at uint64) error {
	const indexBytes = 2 * launch.WordBytes
	if err := b.Fill(driver.DevicePtr(at), 0, plan.SectionStatusBytes, s); err != nil {
		return err
	}
	return b.Fill(driver.DevicePtr(at), 0xff, indexBytes, s)
}

// pointsOf is the segment that reads a section's points and converts them.
func pointsOf(s *devcontext.Context, r *cardSet, of srs.Section, to, status launch.Range) staging.Segment {
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
		raw := launch.Range{Addr: uint64(s.Decode) + uint64(sl.Index)*staging.SlotBytes, Bytes: staging.SlotBytes}
		convert := launch.Decode(plan.GroupOf(of), raw, to, status, uint32(n), uint32(first), uint32(padding), logSize)
		return staging.InOrder([]staging.Work{
			staging.CopyTo(sl.Memory[:bytes], raw, 0),
			func(b *driver.Bound, st driver.Stream) error {
				return s.Kernels.Enqueue(b, st, []launch.Call{convert})
			},
		}), nil
	}
	pieces := staging.PiecesOf(count, perSlot)
	if slots > 0 {
		pieces = max(pieces, 1) // h of a domain of one row has only padding
	}
	return staging.Segment{Pieces: pieces, Block: sched.ParamSet, Fill: fill}
}

// valid waits for the conversion and refuses points that are not valid.
func (f *filling) valid(ctx context.Context) error {
	m, err := f.loading.Record()
	if err != nil {
		return err
	}
	if err := f.loading.Await(ctx, m); err != nil {
		return err
	}
	for i, of := range plan.AllSections {
		if err := f.fault(of, f.status[i*plan.SectionStatusBytes:]); err != nil {
			return fmt.Errorf("cuda: %s: %w", f.set.params.Name(), err)
		}
	}
	return nil
}

// end puts the pinned status back. Nothing that was enqueued may run then, which
// waits for copies only.
func (f *filling) end() {
	if m, err := f.loading.Record(); err == nil {
		_ = f.loading.Await(context.Background(), m) // else the device is lost
	}
	if f.status != nil {
		f.context.Results.Put(f.status)
	}
	// It was retained by fill, so an error is that of closing the file.
	_ = f.set.params.Release()
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
