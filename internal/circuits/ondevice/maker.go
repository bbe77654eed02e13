// Package ondevice makes parameter sets for tests and benchmarks on a GPU: the
// multiples of the generators that synth.Exponents asks for, into host memory
// or into a file.
//
// The points of all sections are cut into pieces. A few producers, each with a
// stream and registered buffers of its own, take one piece after the other: the
// scalars go up, two kernels multiply and make the products affine, the points
// come back and are copied to their place. While one producer copies, the device
// works for another.
package ondevice

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"

	bls "github.com/consensys/gnark-crypto/ecc/bls12-381"

	"github.com/libcuzk/libcuzk/cuda/driver"
	"github.com/libcuzk/libcuzk/cuda/image"
	"github.com/libcuzk/libcuzk/internal/hostmem"
	"github.com/libcuzk/libcuzk/internal/launch"
)

// maxProducers bounds the producers of a maker: their copies into fresh memory,
// one core each, then keep up with the bus.
const maxProducers = 8

// Maker is a context of its own on one device, with the kernels and tables that
// make points. Close it before proving: it holds about 0.5 GiB of the device.
type Maker struct {
	context *driver.Context
	kernels *image.Kernels
	tables  [2]driver.DevicePtr // of the generators' multiples, by group
	threads []*driver.Thread    // one for each producer

	maxPoints int // of a piece in G1; half as many in G2

	mu sync.Mutex // one call at a time
}

// maxPoints fills a device with a few producers: affine conversion gives each
// thread 32 points, so that 2^18 points are 64 blocks.
const maxPoints = 1 << 18

// Open makes a context on dev and loads the kernels that image.Find finds.
func Open(dev *driver.Device) (*Maker, error) {
	set, err := image.Find()
	if err != nil {
		return nil, err
	}
	context, err := dev.NewContext()
	if err != nil {
		return nil, err
	}
	m := &Maker{context: context, maxPoints: maxPoints}
	err = context.Main().Do(func(b *driver.Bound) error {
		if err := m.load(b, set); err != nil {
			return err
		}
		return m.fillTables(b)
	})
	for range min(runtime.GOMAXPROCS(0), maxProducers) {
		if err != nil {
			break
		}
		var t *driver.Thread
		if t, err = context.NewThread(); err == nil {
			m.threads = append(m.threads, t)
		}
	}
	if err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return m, nil
}

// OpenFirst opens the first usable device.
func OpenFirst() (*Maker, error) {
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

// load opens the images that hold this package's kernels.
func (m *Maker) load(b *driver.Bound, set *image.Set) (err error) {
	m.kernels, err = set.Open(b, slices.DeleteFunc(slices.Clone(launch.Kernels()), func(k *launch.Kernel) bool {
		return k.Image != "fixedbase" && k.Image != "convert"
	}))
	return err
}

// generatorTables are the multiples of both generators.
var generatorTables = sync.OnceValue(func() (tables [2][]byte) {
	_, _, g1, g2 := bls.Generators()
	tables[launch.G1] = hostmem.BytesOf(launch.FixedTableG1(g1))
	tables[launch.G2] = hostmem.BytesOf(launch.FixedTableG2(g2))
	return tables
})

func (m *Maker) fillTables(b *driver.Bound) error {
	for group, table := range generatorTables() {
		err := withRegistered(b, len(table), func(registered []byte, s driver.Stream) (err error) {
			if m.tables[group], err = b.MemAlloc(uint64(len(table))); err != nil {
				return err
			}
			copy(registered, table)
			return errors.Join(b.CopyToDevice(m.tables[group], registered, s), b.Synchronize(s))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// withRegistered lends f registered memory and a stream.
func withRegistered(b *driver.Bound, bytes int, f func([]byte, driver.Stream) error) error {
	registered, err := b.HostAlloc(bytes)
	if err != nil {
		return err
	}
	s, err := b.NewStream()
	if err != nil {
		return errors.Join(err, b.HostFreeDeviceWide(registered))
	}
	err = f(registered, s)
	return errors.Join(err, b.DestroyStream(s), b.HostFreeDeviceWide(registered))
}

// Close frees everything and destroys the context.
func (m *Maker) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	err := m.context.Main().Do(func(b *driver.Bound) error {
		var failed error
		for _, table := range m.tables {
			if table != 0 {
				failed = errors.Join(failed, b.MemFreeDeviceWide(table))
			}
		}
		if m.kernels != nil {
			failed = errors.Join(failed, m.kernels.Close(b))
		}
		return failed
	})
	if errors.Is(err, driver.ErrClosed) {
		return nil
	}
	return errors.Join(err, m.context.Close())
}
