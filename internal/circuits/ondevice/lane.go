package ondevice

import (
	"errors"
	"unsafe"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/libcuzk/libcuzk/cuda/driver"
	"github.com/libcuzk/libcuzk/internal/launch"
)

// lane makes one piece at a time.
type lane struct {
	card    *Card
	thread  *driver.Thread
	stream  driver.Stream
	scalars []byte // pinned
	points  []byte // pinned
	memory  driver.DevicePtr
	layout  layout
}

// layout is where a lane's parts lie in its device memory.
type layout struct{ scalars, points, scratch launch.Range }

// layoutFor has room for n points of G1, or n/2 of G2, which take as much.
func layoutFor(base driver.DevicePtr, n int) (l layout, bytes uint64) {
	take := func(size uint64) launch.Range {
		r := launch.Range{Addr: uint64(base) + bytes, Bytes: size}
		bytes += (size + launch.Align - 1) / launch.Align * launch.Align
		return r
	}
	l.scalars = take(uint64(n) * launch.FrBytes)
	l.points = take(uint64(n) * launch.G1.AffineBytes())
	l.scratch = take(max(launch.FixedScratchBytes(launch.G1, uint32(n)), launch.FixedScratchBytes(launch.G2, uint32(n/2))))
	return l, bytes
}

// newLane makes the buffers of a lane for pieces of up to n points of G1.
func (c *Card) newLane(t *driver.Thread, n int) (*lane, error) {
	l := &lane{card: c, thread: t}
	err := t.Do(func(b *driver.Bound) (err error) {
		if l.stream, err = b.NewStream(); err != nil {
			return err
		}
		_, bytes := layoutFor(0, n)
		if l.memory, err = b.MemAlloc(bytes); err != nil {
			return err
		}
		l.layout, _ = layoutFor(l.memory, n)
		if l.scalars, err = b.HostAlloc(int(l.layout.scalars.Bytes)); err != nil {
			return err
		}
		l.points, err = b.HostAlloc(int(l.layout.points.Bytes))
		return err
	})
	if err != nil {
		return nil, errors.Join(err, l.release())
	}
	return l, nil
}

// release gives the buffers back; nothing of the lane runs any more.
func (l *lane) release() error {
	return l.thread.Do(func(b *driver.Bound) error {
		var failed error
		for _, pinned := range [][]byte{l.scalars, l.points} {
			if pinned != nil {
				failed = errors.Join(failed, b.HostFreeDeviceWide(pinned))
			}
		}
		if l.memory != 0 {
			failed = errors.Join(failed, b.MemFreeDeviceWide(l.memory))
		}
		if l.stream != 0 {
			failed = errors.Join(failed, b.DestroyStream(l.stream))
		}
		return failed
	})
}

// multiply gives [scalars[i]] times the generator, at most as many as the lane
// has room for: affine in Montgomery form, or as in a parameter file. The
// result is valid until the next call.
func (l *lane) multiply(g launch.Group, scalars []fr.Element, asInFile bool) ([]byte, error) {
	n := uint32(len(scalars))
	copy(l.scalars, bytesOf(scalars))
	points := l.points[:uint64(n)*g.AffineBytes()]
	table := launch.Range{Addr: uint64(l.card.tables[g]), Bytes: launch.FixedTableN * g.AffineBytes()}
	at := l.layout
	calls := launch.Fixed(g, table, at.scalars, at.points, at.scratch, n)
	from := at.points
	if asInFile {
		// The sums in scratch are not needed once they are affine.
		from = at.scratch
		calls = append(calls, launch.Encode(g, at.points, from, n))
	}
	return points, l.thread.Do(func(b *driver.Bound) error {
		err := b.CopyToDevice(driver.DevicePtr(at.scalars.Addr), l.scalars[:uint64(n)*launch.FrBytes], l.stream)
		if err != nil {
			return err
		}
		for _, call := range calls {
			if err := l.start(b, call); err != nil {
				return err
			}
		}
		if err := b.CopyToHost(points, driver.DevicePtr(from.Addr), l.stream); err != nil {
			return err
		}
		return b.Synchronize(l.stream)
	})
}

func (l *lane) start(b *driver.Bound, call launch.Call) error {
	touches := make([]driver.Range, len(call.Access))
	for i, a := range call.Access {
		touches[i] = driver.Range{Base: driver.DevicePtr(a.Addr), Bytes: a.Bytes, Mode: driver.Access(a.Mode)}
	}
	return b.Start(driver.Launch{
		Function: l.card.functions[call.Kernel],
		Name:     call.Kernel.Name,
		Grid:     driver.Dim3{X: call.GridX, Y: call.GridY},
		Block:    driver.Dim3{X: call.Kernel.Threads},
		Stream:   l.stream,
		Touches:  touches,
	}, call.Args)
}

// bytesOf views elements without Go pointers as bytes.
func bytesOf[T any](elements []T) []byte {
	var one T
	// SAFETY: the view has the length of the slice and keeps its array alive.
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(elements))), len(elements)*int(unsafe.Sizeof(one)))
}
