// Package cudatest lets tests allocate, copy and launch in a few words, on
// whatever driver is there: a card, or the simulator that CUZK_CUDA_LIB names.
package cudatest

import (
	"os"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/cuda/driver"
	"github.com/libcuzk/libcuzk/cuda/image"
)

// RequireVariable set to 1 makes a missing device a failure instead of a skip.
const RequireVariable = "CUZK_REQUIRE_GPU"

// Card is a context on the first usable device, with a stream. Everything
// ends with the test.
type Card struct {
	T       testing.TB
	Context *driver.Context
	Stream  driver.Stream
	modules []*driver.Module
	held    []driver.DevicePtr
}

// Device is the first usable device; without one the test is skipped, or
// fails if CUZK_REQUIRE_GPU=1.
func Device(t testing.TB) *driver.Device {
	t.Helper()
	d, err := driver.Open()
	if err != nil {
		absent(t, err.Error())
	}
	devices, err := d.Devices()
	require.NoError(t, err)
	reason := "no CUDA device is visible"
	for _, dev := range devices {
		if dev.Unusable == "" {
			return dev
		}
		reason = dev.Name + ": " + dev.Unusable
	}
	absent(t, reason)
	return nil
}

func absent(t testing.TB, reason string) {
	t.Helper()
	if os.Getenv(RequireVariable) == "1" {
		t.Fatalf("%s=1, but: %s", RequireVariable, reason)
	}
	t.Skip(reason)
}

// Open makes a context on the first usable device.
func Open(t testing.TB) *Card {
	t.Helper()
	ctx, err := Device(t).NewContext()
	require.NoError(t, err)
	c := &Card{T: t, Context: ctx}
	t.Cleanup(c.close)
	c.Do(func(b *driver.Bound) (err error) {
		c.Stream, err = b.NewStream()
		return err
	})
	return c
}

// OpenWithKernels also loads the kernel images that image.Find finds.
func OpenWithKernels(t testing.TB) *Card {
	t.Helper()
	c := Open(t)
	set, err := image.Find()
	require.NoError(t, err)
	for _, data := range set.Images {
		c.Load(data)
	}
	return c
}

// Load opens one more image.
func (c *Card) Load(data []byte) {
	c.T.Helper()
	c.Do(func(b *driver.Bound) error {
		m, err := b.LoadModule(data)
		c.modules = append(c.modules, m)
		return err
	})
}

func (c *Card) close() {
	c.Do(func(b *driver.Bound) error {
		if err := b.Synchronize(c.Stream); err != nil {
			return err
		}
		for _, p := range c.held {
			if err := b.MemFreeDeviceWide(p); err != nil {
				return err
			}
		}
		for _, m := range c.modules {
			if err := b.UnloadModule(m); err != nil {
				return err
			}
		}
		return b.DestroyStream(c.Stream)
	})
	require.NoError(c.T, c.Context.Close())
}

// Do runs f on the context's thread; an error ends the test.
func (c *Card) Do(f func(*driver.Bound) error) {
	c.T.Helper()
	require.NoError(c.T, c.Context.Main().Do(f))
}

// Alloc allocates device memory until the test ends.
func (c *Card) Alloc(bytes uint64) driver.DevicePtr {
	c.T.Helper()
	var p driver.DevicePtr
	c.Do(func(b *driver.Bound) (err error) {
		p, err = b.MemAlloc(max(bytes, 1))
		return err
	})
	c.held = append(c.held, p)
	return p
}

// Upload puts values into new device memory. T must hold no Go pointers.
func Upload[T any](c *Card, values []T) driver.DevicePtr {
	c.T.Helper()
	p := c.Alloc(bytesOf[T](len(values)))
	Write(c, p, values)
	return p
}

// Write copies values to p.
func Write[T any](c *Card, p driver.DevicePtr, values []T) {
	c.T.Helper()
	c.staged(bytesOf[T](len(values)), func(b *driver.Bound, pinned []byte) error {
		copy(pinned, rawBytes(values))
		if err := b.CopyToDevice(p, pinned, c.Stream); err != nil {
			return err
		}
		return b.Synchronize(c.Stream)
	})
}

// Download reads n values from p after everything enqueued before has run.
func Download[T any](c *Card, p driver.DevicePtr, n int) []T {
	c.T.Helper()
	values := make([]T, n)
	c.staged(bytesOf[T](n), func(b *driver.Bound, pinned []byte) error {
		if err := b.CopyToHost(pinned, p, c.Stream); err != nil {
			return err
		}
		if err := b.Synchronize(c.Stream); err != nil {
			return err
		}
		copy(rawBytes(values), pinned)
		return nil
	})
	return values
}

// staged runs f with pinned memory of the given size.
func (c *Card) staged(bytes uint64, f func(*driver.Bound, []byte) error) {
	c.T.Helper()
	if bytes == 0 {
		return
	}
	c.Do(func(b *driver.Bound) error {
		pinned, err := b.HostAlloc(int(bytes))
		if err != nil {
			return err
		}
		if err := f(b, pinned); err != nil {
			return err
		}
		return b.HostFreeDeviceWide(pinned)
	})
}

// Start enqueues a kernel by name on the card's stream. l.Function, l.Name and
// l.Stream are filled in. A must hold no Go pointers.
func Start[A any](c *Card, b *driver.Bound, kernel string, l driver.Launch, arguments *A) error {
	f, err := b.FunctionIn(c.modules, kernel)
	if err != nil {
		return err
	}
	l.Function, l.Name, l.Stream = f, kernel, c.Stream
	return b.Start(l, rawBytes(unsafe.Slice(arguments, 1)))
}

// Run is Start, and then waits for the kernel.
func Run[A any](c *Card, kernel string, l driver.Launch, arguments *A) {
	c.T.Helper()
	c.Do(func(b *driver.Bound) error {
		if err := Start(c, b, kernel, l, arguments); err != nil {
			return err
		}
		return b.Synchronize(c.Stream)
	})
}

// Time enqueues f's work on the card's stream the given number of times and
// returns the shortest time it took on the card.
func (c *Card) Time(times int, f func(*driver.Bound) error) time.Duration {
	c.T.Helper()
	shortest := time.Duration(1<<63 - 1)
	for range times {
		c.Do(func(b *driver.Bound) error {
			took, err := c.timeOnce(b, f)
			shortest = min(shortest, took)
			return err
		})
	}
	return shortest
}

func (c *Card) timeOnce(b *driver.Bound, f func(*driver.Bound) error) (time.Duration, error) {
	start, err := b.NewTimer()
	if err != nil {
		return 0, err
	}
	end, err := b.NewTimer()
	if err != nil {
		return 0, err
	}
	for _, step := range []func() error{
		func() error { return b.Record(start, c.Stream) },
		func() error { return f(b) },
		func() error { return b.Record(end, c.Stream) },
		func() error { return b.Synchronize(c.Stream) },
	} {
		if err := step(); err != nil {
			return 0, err
		}
	}
	took, err := b.Elapsed(start, end)
	if err != nil {
		return 0, err
	}
	if err := b.DestroyEvent(start); err != nil {
		return 0, err
	}
	return took, b.DestroyEvent(end)
}

func bytesOf[T any](n int) uint64 {
	var one T
	return uint64(n) * uint64(unsafe.Sizeof(one))
}

// rawBytes views plain values as bytes.
func rawBytes[T any](values []T) []byte {
	// SAFETY: the view has the length of the slice and the caller's lifetime.
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(values))), bytesOf[T](len(values)))
}
