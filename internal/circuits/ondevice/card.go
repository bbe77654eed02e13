// Package ondevice makes parameter sets for tests and benchmarks on a card: the
// multiples of the generators that synth.Exponents asks for, into host memory
// or into a file.
//
// The points of all sections are cut into pieces. A few lanes, each with a
// stream and pinned buffers of its own, take one piece after the other: the
// scalars go up, two kernels multiply and make the products affine, the points
// come back and are copied to their place. While one lane copies, the card
// works for another.
package ondevice

import (
	"errors"
	"fmt"
	"runtime"
	"sync"

	bls "github.com/consensys/gnark-crypto/ecc/bls12-381"

	"github.com/libcuzk/libcuzk/cuda/driver"
	"github.com/libcuzk/libcuzk/cuda/image"
	"github.com/libcuzk/libcuzk/cuda/kernels"
	"github.com/libcuzk/libcuzk/internal/launch"
)

// maxLanes bounds the lanes of a card: their copies into fresh memory, one
// core each, then keep up with the bus.
const maxLanes = 8

// Card is a context of its own on one card, with the kernels and tables that
// make points. Close it before proving: it holds about 0.5 GiB of the card.
type Card struct {
	context   *driver.Context
	modules   []*driver.Module
	functions map[*launch.Kernel]driver.Function
	tables    [2]driver.DevicePtr // of the generators' multiples, by group
	threads   []*driver.Thread    // one a lane

	// maxPoints is the most points of a piece in G1; in G2 half of that.
	maxPoints int

	mu sync.Mutex // one call at a time
}

// maxPoints fills the card with a few lanes: affine conversion runs 32 points
// a thread, so that 2^18 points are 64 blocks.
const maxPoints = 1 << 18

// Open makes a context on dev and loads the kernels that image.Find finds.
func Open(dev *driver.Device) (*Card, error) {
	set, err := image.Find()
	if err != nil {
		return nil, err
	}
	context, err := dev.NewContext()
	if err != nil {
		return nil, err
	}
	c := &Card{context: context, functions: map[*launch.Kernel]driver.Function{}, maxPoints: maxPoints}
	err = context.Main().Do(func(b *driver.Bound) error {
		if err := c.load(b, set); err != nil {
			return err
		}
		return c.fillTables(b)
	})
	for range min(runtime.GOMAXPROCS(0), maxLanes) {
		if err != nil {
			break
		}
		var t *driver.Thread
		if t, err = context.NewThread(); err == nil {
			c.threads = append(c.threads, t)
		}
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// OpenFirst opens the first usable card.
func OpenFirst() (*Card, error) {
	d, err := driver.Open()
	if err != nil {
		return nil, err
	}
	devices, err := d.Devices()
	if err != nil {
		return nil, err
	}
	for _, dev := range devices {
		if dev.Unusable == "" {
			return Open(dev)
		}
	}
	return nil, fmt.Errorf("cuda: none of the %d devices that the driver lists is usable", len(devices))
}

// load loads the two images that hold this package's kernels.
func (c *Card) load(b *driver.Bound, set *image.Set) error {
	images := map[string]*driver.Module{"fixedbase": nil, "convert": nil}
	for i, name := range kernels.Names {
		if _, needed := images[name]; !needed {
			continue
		}
		m, err := b.LoadModule(set.Images[i])
		if err != nil {
			return fmt.Errorf("kernel image %s from %s: %w", name, set.Origin, err)
		}
		c.modules = append(c.modules, m)
		images[name] = m
	}
	for _, kernel := range launch.Kernels() {
		m := images[kernel.Image]
		if m == nil {
			continue
		}
		f, err := b.Function(m, kernel.Name)
		if err != nil {
			return fmt.Errorf("kernel image %s from %s: %w", kernel.Image, set.Origin, err)
		}
		c.functions[kernel] = f
	}
	return nil
}

// generatorTables are the multiples of both generators.
var generatorTables = sync.OnceValue(func() (tables [2][]byte) {
	_, _, g1, g2 := bls.Generators()
	tables[launch.G1] = bytesOf(launch.FixedTableG1(g1))
	tables[launch.G2] = bytesOf(launch.FixedTableG2(g2))
	return tables
})

func (c *Card) fillTables(b *driver.Bound) error {
	for group, table := range generatorTables() {
		err := withPinned(b, len(table), func(pinned []byte, s driver.Stream) (err error) {
			if c.tables[group], err = b.MemAlloc(uint64(len(table))); err != nil {
				return err
			}
			copy(pinned, table)
			return errors.Join(b.CopyToDevice(c.tables[group], pinned, s), b.Synchronize(s))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// withPinned lends f pinned memory and a stream.
func withPinned(b *driver.Bound, bytes int, f func([]byte, driver.Stream) error) error {
	pinned, err := b.HostAlloc(bytes)
	if err != nil {
		return err
	}
	s, err := b.NewStream()
	if err != nil {
		return errors.Join(err, b.HostFreeDeviceWide(pinned))
	}
	err = f(pinned, s)
	return errors.Join(err, b.DestroyStream(s), b.HostFreeDeviceWide(pinned))
}

// Close gives everything back and destroys the context.
func (c *Card) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	err := c.context.Main().Do(func(b *driver.Bound) error {
		var failed error
		for _, table := range c.tables {
			if table != 0 {
				failed = errors.Join(failed, b.MemFreeDeviceWide(table))
			}
		}
		for _, m := range c.modules {
			failed = errors.Join(failed, b.UnloadModule(m))
		}
		return failed
	})
	if errors.Is(err, driver.ErrClosed) {
		return nil
	}
	return errors.Join(err, c.context.Close())
}
