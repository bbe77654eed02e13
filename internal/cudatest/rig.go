// Package cudatest lets tests allocate, copy and launch in a few words, on
// whatever driver is there: that of a GPU, or the simulator that CUZK_CUDA_LIB
// names.
package cudatest

import (
	"os"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/cuda/driver"
	"github.com/libcuzk/libcuzk/cuda/image"
	"github.com/libcuzk/libcuzk/internal/hostmem"
)

// RequireVariable set to 1 makes a missing device a failure instead of a skip.
const RequireVariable = "CUZK_REQUIRE_GPU"

// Rig is a context on the first usable device, with a stream. Everything
// ends with the test.
type Rig struct {
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
func Open(t testing.TB) *Rig {
	t.Helper()
	ctx, err := Device(t).NewContext()
	require.NoError(t, err)
	r := &Rig{T: t, Context: ctx}
	t.Cleanup(r.close)
	r.Do(func(b *driver.Bound) (err error) {
		r.Stream, err = b.NewStream()
		return err
	})
	return r
}

// OpenWithKernels also loads the kernel images that image.Find finds.
func OpenWithKernels(t testing.TB) *Rig {
	t.Helper()
	r := Open(t)
	set, err := image.Find()
	require.NoError(t, err)
	for _, data := range set.Images {
		r.Load(data)
	}
	return r
}

// Load opens one more image.
func (r *Rig) Load(data []byte) {
	r.T.Helper()
	r.Do(func(b *driver.Bound) error {
		m, err := b.LoadModule(data)
		r.modules = append(r.modules, m)
		return err
	})
}

func (r *Rig) close() {
	r.Do(func(b *driver.Bound) error {
		if err := b.Synchronize(r.Stream); err != nil {
			return err
		}
		for _, p := range r.held {
			if err := b.MemFreeDeviceWide(p); err != nil {
				return err
			}
		}
		for _, m := range r.modules {
			if err := b.UnloadModule(m); err != nil {
				return err
			}
		}
		return b.DestroyStream(r.Stream)
	})
	require.NoError(r.T, r.Context.Close())
}

// Do runs f on the context's thread; an error ends the test.
func (r *Rig) Do(f func(*driver.Bound) error) {
	r.T.Helper()
	require.NoError(r.T, r.Context.Main().Do(f))
}

// Alloc allocates device memory until the test ends.
func (r *Rig) Alloc(bytes uint64) driver.DevicePtr {
	r.T.Helper()
	var p driver.DevicePtr
	r.Do(func(b *driver.Bound) (err error) {
		p, err = b.MemAlloc(max(bytes, 1))
		return err
	})
	r.held = append(r.held, p)
	return p
}

// Upload puts values into new device memory. T must hold no Go pointers.
func Upload[T any](r *Rig, values []T) driver.DevicePtr {
	r.T.Helper()
	p := r.Alloc(uint64(len(hostmem.BytesOf(values))))
	Write(r, p, values)
	return p
}

// Write copies values to p.
func Write[T any](r *Rig, p driver.DevicePtr, values []T) {
	r.T.Helper()
	bytes := hostmem.BytesOf(values)
	r.staged(len(bytes), func(b *driver.Bound, registered []byte) error {
		copy(registered, bytes)
		if err := b.CopyToDevice(p, registered, r.Stream); err != nil {
			return err
		}
		return b.Synchronize(r.Stream)
	})
}

// Download reads n values from p after everything enqueued before has run.
func Download[T any](r *Rig, p driver.DevicePtr, n int) []T {
	r.T.Helper()
	values := make([]T, n)
	bytes := hostmem.BytesOf(values)
	r.staged(len(bytes), func(b *driver.Bound, registered []byte) error {
		if err := b.CopyToHost(registered, p, r.Stream); err != nil {
			return err
		}
		if err := b.Synchronize(r.Stream); err != nil {
			return err
		}
		copy(bytes, registered)
		return nil
	})
	return values
}

// staged runs f with so many bytes of registered memory.
func (r *Rig) staged(bytes int, f func(*driver.Bound, []byte) error) {
	r.T.Helper()
	if bytes == 0 {
		return
	}
	r.Do(func(b *driver.Bound) error {
		registered, err := b.HostAlloc(bytes)
		if err != nil {
			return err
		}
		if err := f(b, registered); err != nil {
			return err
		}
		return b.HostFreeDeviceWide(registered)
	})
}

// Start enqueues a kernel by name on the rig's stream. l.Function, l.Name and
// l.Stream are filled in. A must hold no Go pointers.
func Start[A any](r *Rig, b *driver.Bound, kernel string, l driver.Launch, arguments *A) error {
	f, err := b.FunctionIn(r.modules, kernel)
	if err != nil {
		return err
	}
	l.Function, l.Name, l.Stream = f, kernel, r.Stream
	return b.Start(l, hostmem.BytesOf(unsafe.Slice(arguments, 1)))
}

// Run is Start, and then waits for the kernel.
func Run[A any](r *Rig, kernel string, l driver.Launch, arguments *A) {
	r.T.Helper()
	r.Do(func(b *driver.Bound) error {
		if err := Start(r, b, kernel, l, arguments); err != nil {
			return err
		}
		return b.Synchronize(r.Stream)
	})
}

// Time enqueues f's work on the rig's stream the given number of times and
// returns the shortest time it took on the device.
func (r *Rig) Time(times int, f func(*driver.Bound) error) time.Duration {
	r.T.Helper()
	shortest := time.Duration(1<<63 - 1)
	for range times {
		r.Do(func(b *driver.Bound) error {
			took, err := r.timeOnce(b, f)
			shortest = min(shortest, took)
			return err
		})
	}
	return shortest
}

func (r *Rig) timeOnce(b *driver.Bound, f func(*driver.Bound) error) (time.Duration, error) {
	start, err := b.NewTimer()
	if err != nil {
		return 0, err
	}
	end, err := b.NewTimer()
	if err != nil {
		return 0, err
	}
	for _, step := range []func() error{
		func() error { return b.Record(start, r.Stream) },
		func() error { return f(b) },
		func() error { return b.Record(end, r.Stream) },
		func() error { return b.Synchronize(r.Stream) },
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
