package ondevice

import (
	"errors"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/libcuzk/libcuzk/cuda/driver"
	"github.com/libcuzk/libcuzk/internal/hostmem"
	"github.com/libcuzk/libcuzk/internal/launch"
)

// producer makes one piece at a time.
type producer struct {
	maker   *Maker
	thread  *driver.Thread
	stream  driver.Stream
	scalars []byte // registered
	points  []byte // registered
	memory  driver.DevicePtr
	layout  layout
}

// layout is where a producer's parts lie in its device memory.
type layout struct{ scalars, points, scratch launch.Range }

// layoutFor has room for n points of G1, or n/2 of G2, which take as much.
func layoutFor(base driver.DevicePtr, n int) (l layout, bytes uint64) {
	parts := launch.Layout{Whole: launch.Range{Addr: uint64(base), Bytes: 1 << 63}}
	l.scalars = parts.Take(uint64(n) * launch.FrBytes)
	l.points = parts.Take(uint64(n) * launch.G1.AffineBytes())
	l.scratch = parts.Take(max(launch.FixedScratchBytes(launch.G1, uint32(n)), launch.FixedScratchBytes(launch.G2, uint32(n/2))))
	return l, parts.Used
}

// newProducer makes the buffers of a producer for pieces of up to n points of G1.
func (m *Maker) newProducer(t *driver.Thread, n int) (*producer, error) {
	p := &producer{maker: m, thread: t}
	err := t.Do(func(b *driver.Bound) (err error) {
		if p.stream, err = b.NewStream(); err != nil {
			return err
		}
		_, bytes := layoutFor(0, n)
		if p.memory, err = b.MemAlloc(bytes); err != nil {
			return err
		}
		p.layout, _ = layoutFor(p.memory, n)
		if p.scalars, err = b.HostAlloc(int(p.layout.scalars.Bytes)); err != nil {
			return err
		}
		p.points, err = b.HostAlloc(int(p.layout.points.Bytes))
		return err
	})
	if err != nil {
		return nil, errors.Join(err, p.release())
	}
	return p, nil
}

// release frees the buffers; nothing of the producer runs any more.
func (p *producer) release() error {
	return p.thread.Do(func(b *driver.Bound) error {
		var failed error
		for _, registered := range [][]byte{p.scalars, p.points} {
			if registered != nil {
				failed = errors.Join(failed, b.HostFreeDeviceWide(registered))
			}
		}
		if p.memory != 0 {
			failed = errors.Join(failed, b.MemFreeDeviceWide(p.memory))
		}
		if p.stream != 0 {
			failed = errors.Join(failed, b.DestroyStream(p.stream))
		}
		return failed
	})
}

// multiply gives [scalars[i]] times the generator, at most as many as the producer
// has room for: affine in Montgomery form, or as in a parameter file. The
// result is valid until the next call.
func (p *producer) multiply(g launch.Group, scalars []fr.Element, asInFile bool) ([]byte, error) {
	n := uint32(len(scalars))
	copy(p.scalars, hostmem.BytesOf(scalars))
	points := p.points[:uint64(n)*g.AffineBytes()]
	table := launch.Range{Addr: uint64(p.maker.tables[g]), Bytes: launch.FixedTableN * g.AffineBytes()}
	at := p.layout
	calls := launch.Fixed(g, table, at.scalars, at.points, at.scratch, n)
	from := at.points
	if asInFile {
		// The sums in scratch are not needed once they are affine.
		from = at.scratch
		calls = append(calls, launch.Encode(g, at.points, from, n))
	}
	return points, p.thread.Do(func(b *driver.Bound) error {
		err := b.CopyToDevice(driver.DevicePtr(at.scalars.Addr), p.scalars[:uint64(n)*launch.FrBytes], p.stream)
		if err != nil {
			return err
		}
		for _, call := range calls {
			if err := p.maker.kernels.Start(b, p.stream, call); err != nil {
				return err
			}
		}
		if err := b.CopyToHost(points, driver.DevicePtr(from.Addr), p.stream); err != nil {
			return err
		}
		return b.Synchronize(p.stream)
	})
}
