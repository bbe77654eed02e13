package cuda

import (
	"context"
	"errors"
	"fmt"
	"unsafe"

	bls "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/libcuzk/libcuzk/cuda/driver"
	"github.com/libcuzk/libcuzk/cuda/launch"
	"github.com/libcuzk/libcuzk/engine/backend"
	"github.com/libcuzk/libcuzk/engine/sched"
	"github.com/libcuzk/libcuzk/engine/vram"
)

// fixedChunk is how many products are made at a time: two slots of scalars,
// 512 blocks of threads.
const fixedChunk = 1 << 16

// MultiplyG1 is [s]base for every scalar s, computed on a device of this
// package. It is what makes parameter sets: see package synth. It runs as a
// job of its own among those of the device.
func MultiplyG1(ctx context.Context, dev backend.Device, base bls.G1Affine, scalars []fr.Element) ([]bls.G1Affine, error) {
	points := make([]bls.G1Affine, len(scalars))
	return points, multiply(ctx, dev, launch.G1, raw(launch.FixedTableG1(base)), scalars, raw(points))
}

// MultiplyG2 is MultiplyG1 in G2.
func MultiplyG2(ctx context.Context, dev backend.Device, base bls.G2Affine, scalars []fr.Element) ([]bls.G2Affine, error) {
	points := make([]bls.G2Affine, len(scalars))
	return points, multiply(ctx, dev, launch.G2, raw(launch.FixedTableG2(base)), scalars, raw(points))
}

// raw views points as bytes: a coordinate is the same on the card.
func raw[P bls.G1Affine | bls.G2Affine](points []P) []byte {
	var one P
	// SAFETY: the view has the slice's length and lifetime.
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(points))), len(points)*int(unsafe.Sizeof(one)))
}

// fixedBase is one multiplication of a base on its way through the card.
type fixedBase struct {
	*session
	group   launch.Group
	ticket  *sched.Ticket
	pinned  []byte // one chunk of points
	table   launch.Range
	scalars launch.Range
	points  launch.Range
	scratch launch.Range
}

func multiply(ctx context.Context, dev backend.Device, g launch.Group, table []byte, scalars []fr.Element, points []byte) error {
	d, ok := dev.(*device)
	if !ok {
		return fmt.Errorf("cuda: %s is not a device of this package", dev.Info().Name)
	}
	done, err := d.begin()
	if err != nil {
		return err
	}
	defer done()
	p := packing{}
	f := fixedBase{group: g}
	f.table, f.scalars = p.take(uint64(len(table))), p.take(fixedChunk*launch.FrBytes)
	f.points, f.scratch = p.take(fixedChunk*g.AffineBytes()), p.take(launch.FixedScratchBytes(g, fixedChunk))
	need := vram.Need{Resident: []vram.Request{{Bytes: p.used, Exact: true}}}
	err = d.jobs.Run(ctx, need, sched.Work{
		Compute: func(ctx context.Context, t *sched.Ticket) error {
			f.session, f.ticket = d.current.Load(), t
			if err := f.noteBlocks(t, driver.NoteClaim, 0); err != nil {
				return err
			}
			for _, r := range []*launch.Range{&f.table, &f.scalars, &f.points, &f.scratch} {
				r.Addr += f.rangeOf(t, 0).Addr
			}
			err := f.watch.Do(func(b *driver.Bound) (err error) {
				f.pinned, err = b.HostAlloc(int(f.points.Bytes))
				return err
			})
			if err != nil {
				return err
			}
			if err := f.all(ctx, table, scalars, points); err != nil {
				return err
			}
			return f.noteBlocks(t, driver.NoteHandOn, 0)
		},
	})
	if f.pinned != nil {
		// Waits for other jobs' kernels too: a generator may.
		err = errors.Join(err, f.watch.Do(func(b *driver.Bound) error { return b.HostFreeDeviceWide(f.pinned) }))
	}
	return err
}

// all multiplies chunk by chunk.
func (f *fixedBase) all(ctx context.Context, table []byte, scalars []fr.Element, points []byte) error {
	size := int(f.group.AffineBytes())
	if err := f.stage(ctx, bytesSegment(table, f.table)); err != nil {
		return err
	}
	for first := 0; first < len(scalars); first += fixedChunk {
		part := scalars[first:min(first+fixedChunk, len(scalars))]
		if err := f.chunk(ctx, part, points[first*size:][:len(part)*size]); err != nil {
			return err
		}
	}
	return nil
}

// stage copies to the card ahead of the kernels enqueued next.
func (f *fixedBase) stage(ctx context.Context, s segment) error {
	if err := f.tiles.send(ctx, f.lane(ctx, f.ticket, sched.Tiles), s); err != nil {
		return err
	}
	m, err := f.ticket.Record(sched.Tiles)
	if err != nil {
		return err
	}
	return f.ticket.Order(sched.Compute, m)
}

func (f *fixedBase) chunk(ctx context.Context, part []fr.Element, points []byte) error {
	if err := f.stage(ctx, scalars("scalars", part, f.scalars, 0, nil)); err != nil {
		return err
	}
	calls := launch.Fixed(f.group, f.table, f.scalars, f.points, f.scratch, uint32(len(part)))
	err := f.lane(ctx, f.ticket, sched.Compute).enqueue(func(b *driver.Bound, s driver.Stream) error {
		if err := f.kernels.enqueue(b, s, calls); err != nil {
			return err
		}
		return b.CopyToHost(f.pinned[:len(points)], driver.DevicePtr(f.points.Addr), s)
	}, 0)
	if err != nil {
		return err
	}
	m, err := f.ticket.Record(sched.Compute)
	if err != nil {
		return err
	}
	if err := f.ticket.Await(ctx, m); err != nil {
		return err
	}
	copy(points, f.pinned)
	return nil
}

// bytesSegment is the segment that copies plain bytes to block 0.
func bytesSegment(from []byte, to launch.Range) segment {
	fill := func(piece int, s *slot) (launches, error) {
		first := piece * slotBytes
		n := copy(s.memory, from[first:])
		return copyOf(s.memory[:n], to, first), nil
	}
	return segment{pieces: piecesOf(len(from), slotBytes), fill: fill}
}
