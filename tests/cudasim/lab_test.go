//go:build linux && (amd64 || arm64)

package cudasim

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/cuda/driver"
)

// lab is a context whose calls may fail: what tests that plant faults work with.
type lab struct {
	t      *testing.T
	sim    *Sim
	ctx    *driver.Context
	module *driver.Module
	a, b   driver.Stream
}

func newLab(t *testing.T, c Config) *lab {
	t.Helper()
	return newLabIn(t, open(t, "selftest", c))
}

// newLabIn is another context on device 0.
func newLabIn(t *testing.T, sim *Sim) *lab {
	t.Helper()
	l := &lab{t: t, sim: sim, ctx: newContext(t, 0)}
	l.must(func(b *driver.Bound) (err error) {
		if l.a, err = b.NewStream(); err != nil {
			return err
		}
		if l.b, err = b.NewStream(); err != nil {
			return err
		}
		l.module, err = b.LoadModule([]byte(imageMarker))
		return err
	})
	return l
}

// newContext is closed when the test ends; what it still holds goes with it.
func newContext(t *testing.T, device int) *driver.Context {
	t.Helper()
	ctx, err := deviceOf(t, device).NewContext()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, ctx.Close()) })
	return ctx
}

func deviceOf(t *testing.T, device int) *driver.Device {
	t.Helper()
	d, err := driver.Open()
	require.NoError(t, err)
	devices, err := d.Devices()
	require.NoError(t, err)
	return devices[device]
}

func (l *lab) do(f func(*driver.Bound) error) error { return l.ctx.Main().Do(f) }

func (l *lab) must(f func(*driver.Bound) error) {
	l.t.Helper()
	require.NoError(l.t, l.do(f))
}

// alloc gives device memory that is freed before the context is closed.
func (l *lab) alloc(bytes uint64) (p driver.DevicePtr) {
	l.t.Helper()
	l.must(func(b *driver.Bound) (err error) {
		p, err = b.MemAlloc(bytes)
		return err
	})
	l.t.Cleanup(func() { _ = l.do(func(b *driver.Bound) error { return b.MemFreeDeviceWide(p) }) })
	return p
}

// zeroed is alloc with every byte written.
func (l *lab) zeroed(bytes uint64) driver.DevicePtr {
	l.t.Helper()
	p := l.alloc(bytes)
	l.must(func(b *driver.Bound) error {
		if err := b.Fill(p, 0, bytes, l.a); err != nil {
			return err
		}
		return b.Synchronize(l.a)
	})
	return p
}

// pinned gives pinned host memory that is freed before the context is closed.
func (l *lab) pinned(bytes int) (p []byte) {
	l.t.Helper()
	l.must(func(b *driver.Bound) (err error) {
		p, err = b.HostAlloc(bytes)
		return err
	})
	l.t.Cleanup(func() { _ = l.do(func(b *driver.Bound) error { return b.HostFreeDeviceWide(p) }) })
	return p
}

// launch enqueues a kernel on a stream.
func launch[A any](l *lab, s driver.Stream, kernel string, n, block uint32, arguments *A, owner uint64, touches ...driver.Range) error {
	return l.do(func(b *driver.Bound) error {
		f, err := b.Function(l.module, kernel)
		if err != nil {
			return err
		}
		d := grid(n, block)
		b.For(owner)
		d.Function, d.Name, d.Stream, d.Touches = f, kernel, s, touches
		// SAFETY: arguments stays alive over the call, which copies the bytes.
		return b.Start(d, unsafe.Slice((*byte)(unsafe.Pointer(arguments)), unsafe.Sizeof(*arguments)))
	})
}

// settle waits for both streams and returns the first error.
func (l *lab) settle() error {
	return l.do(func(b *driver.Bound) error {
		if err := b.Synchronize(l.a); err != nil {
			return err
		}
		return b.Synchronize(l.b)
	})
}

// event records an event on a stream.
func (l *lab) event(s driver.Stream) (e driver.Event) {
	l.t.Helper()
	l.must(func(b *driver.Bound) (err error) {
		if e, err = b.NewEvent(); err != nil {
			return err
		}
		return b.Record(e, s)
	})
	return e
}

func (l *lab) wait(s driver.Stream, e driver.Event) {
	l.t.Helper()
	l.must(func(b *driver.Bound) error { return b.Wait(s, e) })
}

func (l *lab) note(kind driver.NoteKind, owner uint64, p driver.DevicePtr, bytes uint64) {
	l.t.Helper()
	l.must(func(b *driver.Bound) error {
		return b.Note(kind, owner, driver.Range{Base: p, Bytes: bytes, Mode: driver.ReadWrite})
	})
}

// messages are the violations of one kind.
func (l *lab) messages(kind string) (found []string) {
	l.t.Helper()
	for _, v := range l.sim.Report().Violations {
		if v.Kind == kind {
			found = append(found, v.Message)
		}
	}
	return found
}

// requireFound asserts that the planted fault, and no other, was found once and described so.
func (l *lab) requireFound(kind string, parts ...string) {
	l.t.Helper()
	l.sim.Expect(kind)
	found := l.messages(kind)
	require.Len(l.t, found, 1, "%v", l.sim.Report().Violations)
	for _, part := range parts {
		require.Contains(l.t, found[0], part)
	}
}

func hostAddress(p []byte) driver.DevicePtr {
	return driver.DevicePtr(uintptr(unsafe.Pointer(unsafe.SliceData(p))))
}
