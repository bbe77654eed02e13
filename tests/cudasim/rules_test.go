//go:build linux && (amd64 || arm64)

package cudasim

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/libcuzk/libcuzk/cuda/driver"
)

const gib = 1 << 30

func TestHandles(t *testing.T) {
	fresh := func(t *testing.T) *lab { return newLab(t, Config{Devices: 2}) }
	for name, test := range map[string]struct {
		misuse func(l *lab, b *driver.Bound) error
		part   string
	}{
		"a stream where an event belongs": {part: "it names: stream", misuse: func(l *lab, b *driver.Bound) error {
			return b.Record(driver.Event(l.a), l.a)
		}},
		"an event where a stream belongs": {part: "it names: event", misuse: func(l *lab, b *driver.Bound) error {
			e, err := b.NewEvent()
			require.NoError(l.t, err)
			return b.Synchronize(driver.Stream(e))
		}},
		"a module where a function belongs": {part: "it names: stream", misuse: func(l *lab, b *driver.Bound) error {
			return b.Start(driver.Launch{Function: driver.Function(l.a), Stream: l.a}, make([]byte, 8))
		}},
		"any number": {part: "no handle at all", misuse: func(l *lab, b *driver.Bound) error {
			return b.DestroyEvent(driver.Event(12345))
		}},
		"a stream that was destroyed": {part: "it names: stream", misuse: func(l *lab, b *driver.Bound) error {
			s, err := b.NewStream()
			require.NoError(l.t, err)
			require.NoError(l.t, b.DestroyStream(s))
			return b.Synchronize(s)
		}},
		"an event destroyed twice": {part: "it names: event", misuse: func(l *lab, b *driver.Bound) error {
			e, err := b.NewEvent()
			require.NoError(l.t, err)
			require.NoError(l.t, b.DestroyEvent(e))
			return b.DestroyEvent(e)
		}},
		"the default stream": {part: "default stream", misuse: func(l *lab, b *driver.Bound) error {
			return b.Synchronize(0)
		}},
		"a stream of another context": {part: "another context", misuse: func(l *lab, _ *driver.Bound) error {
			return newContext(l.t, 1).Main().Do(func(b *driver.Bound) error { return b.Synchronize(l.a) })
		}},
	} {
		t.Run(name, func(t *testing.T) {
			l := fresh(t)
			err := l.do(func(b *driver.Bound) error { return test.misuse(l, b) })
			assert.True(t, driver.Is(err, driver.Result(400)), "%v", err)
			l.requireFound(KindHandle, test.part)
		})
	}
}

func TestCallsOnACallersThread(t *testing.T) {
	l := newLab(t, Config{})
	d, err := driver.Open()
	require.NoError(t, err)
	l.sim.ForbidThisThread()
	l.must(func(b *driver.Bound) error { return b.Synchronize(l.a) })
	require.Empty(t, l.sim.Report().Violations)
	_, err = d.Devices()
	require.NoError(t, err)
	assert.NotEmpty(t, l.messages(KindContext))
	l.sim.Expect(KindContext)
}

func TestAThreadWithoutAContext(t *testing.T) {
	l := newLab(t, Config{})
	var synchronize func() int32
	bindRaw(t, "cuCtxSynchronize", &synchronize)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	assert.EqualValues(t, 201, synchronize())
	l.requireFound(KindContext, "cuCtxSynchronize: no context is current on this thread")
}

func TestAContextThatWasDestroyed(t *testing.T) {
	sim := open(t, "selftest", Config{})
	var create func(ctx *uintptr, flags uint32, device int32) int32
	var destroy, setCurrent func(ctx uintptr) int32
	var synchronize func() int32
	bindRaw(t, "cuCtxCreate_v2", &create)
	bindRaw(t, "cuCtxDestroy_v2", &destroy)
	bindRaw(t, "cuCtxSetCurrent", &setCurrent)
	bindRaw(t, "cuCtxSynchronize", &synchronize)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var ctx uintptr
	require.Zero(t, create(&ctx, 0, 0))
	require.Zero(t, synchronize())
	done := make(chan int32)
	destroyed := make(chan bool)
	go func() { // another thread keeps it current
		runtime.LockOSThread()
		code := setCurrent(ctx)
		done <- code
		<-destroyed
		done <- synchronize()
	}()
	require.Zero(t, <-done)
	require.Zero(t, destroy(ctx))
	close(destroyed)
	assert.EqualValues(t, 709, <-done)
	sim.Expect(KindContext)
	assert.EqualValues(t, 201, destroy(ctx))
	sim.Expect(KindHandle)
}

func TestReleases(t *testing.T) {
	for name, test := range map[string]struct {
		misuse func(l *lab, b *driver.Bound) error
		part   string
	}{
		"device memory freed twice": {part: "is no allocation", misuse: func(l *lab, b *driver.Bound) error {
			p, err := b.MemAlloc(64)
			require.NoError(l.t, err)
			require.NoError(l.t, b.MemFreeDeviceWide(p))
			return b.MemFreeDeviceWide(p)
		}},
		"freed from its middle": {part: "is no allocation", misuse: func(l *lab, b *driver.Bound) error {
			return b.MemFreeDeviceWide(l.alloc0(b) + 8)
		}},
		"registered memory freed": {part: "is no pinned allocation", misuse: func(l *lab, b *driver.Bound) error {
			memory := hostMemory(l.t)
			require.NoError(l.t, b.HostRegister(memory))
			err := b.HostFreeDeviceWide(memory)
			require.NoError(l.t, b.HostUnregister(memory))
			return err
		}},
		"physical memory released twice": {part: "was released", misuse: func(l *lab, b *driver.Bound) error {
			h, err := b.Create(2 << 20)
			require.NoError(l.t, err)
			require.NoError(l.t, b.Release(h))
			return b.Release(h)
		}},
		"addresses given back with a mapping": {part: "still have mappings", misuse: func(l *lab, b *driver.Bound) error {
			p := l.mapped(b, 2<<20)
			return b.AddressFree(p, 2<<20)
		}},
		"half of a mapping unmapped": {part: "not whole mappings", misuse: func(l *lab, b *driver.Bound) error {
			p := l.mapped(b, 4<<20)
			return b.Unmap(p, 2<<20)
		}},
		"addresses never reserved given back": {part: "no reservation", misuse: func(l *lab, b *driver.Bound) error {
			return b.AddressFree(0x1000, 2<<20)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, Config{})
			require.Error(t, l.do(func(b *driver.Bound) error { return test.misuse(l, b) }))
			l.requireFound(KindRelease, test.part)
		})
	}
	t.Run("memory never freed", func(t *testing.T) {
		sim := open(t, "selftest", Config{})
		ctx := newContext(t, 0)
		require.NoError(t, ctx.Main().Do(func(b *driver.Bound) error {
			_, err := b.MemAlloc(64)
			return err
		}))
		require.NoError(t, ctx.Close())
		sim.Expect(KindRelease)
		assert.Contains(t, sim.Report().Violations[0].Message, "1 device allocations and 0 pinned buffers")
	})
}

// alloc0 is alloc for use inside do.
func (l *lab) alloc0(b *driver.Bound) driver.DevicePtr {
	p, err := b.MemAlloc(64)
	require.NoError(l.t, err)
	l.t.Cleanup(func() { l.must(func(b *driver.Bound) error { return b.MemFreeDeviceWide(p) }) })
	return p
}

// mapped gives mapped memory that is unmapped when the test ends.
func (l *lab) mapped(b *driver.Bound, bytes uint64) driver.DevicePtr {
	p, err := b.AddressReserve(bytes, 0)
	require.NoError(l.t, err)
	h, err := b.Create(bytes)
	require.NoError(l.t, err)
	require.NoError(l.t, b.Map(p, bytes, h))
	require.NoError(l.t, b.Release(h))
	l.t.Cleanup(func() {
		l.must(func(b *driver.Bound) error {
			if err := b.Unmap(p, bytes); err != nil {
				return err
			}
			return b.AddressFree(p, bytes)
		})
	})
	return p
}

func hostMemory(t *testing.T) []byte {
	t.Helper()
	memory, err := unix.Mmap(-1, 0, 1<<16, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, unix.Munmap(memory)) })
	return memory
}

func TestRegisteredMemory(t *testing.T) {
	l := newLab(t, Config{})
	memory, p := hostMemory(t), l.alloc(64)
	l.must(func(b *driver.Bound) error {
		require.NoError(t, b.HostRegister(memory))
		assert.True(t, driver.Is(b.HostRegister(memory[4096:8192]), driver.Result(712)))
		require.NoError(t, b.CopyToDevice(p, memory[:64], l.a))
		require.NoError(t, b.Synchronize(l.a))
		require.NoError(t, b.CopyToDevice(p, memory[:64], l.a))
		return b.HostUnregister(memory)
	})
	require.NoError(t, l.settle())
	l.requireFound(KindBusy, "upload of 64 bytes")
}

func TestPhysicalMemoryIsCounted(t *testing.T) {
	const chunk = gib
	l := newLab(t, Config{VRAMBytes: 4 * gib, ContextBytes: gib / 2})
	l.must(func(b *driver.Bound) error {
		free, total, err := b.MemInfo()
		require.NoError(t, err)
		assert.EqualValues(t, 4*gib, total)
		assert.EqualValues(t, 3.5*gib, free)
		var chunks []driver.Allocation
		for range 3 {
			h, err := b.Create(chunk)
			require.NoError(t, err)
			chunks = append(chunks, h)
		}
		_, err = b.Create(chunk)
		assert.True(t, driver.Is(err, driver.ErrorOutOfMemory), "%v", err)
		l.sim.Seize(0, gib/4)
		free, _, err = b.MemInfo()
		require.NoError(t, err)
		assert.EqualValues(t, gib/4, free)
		l.sim.Seize(0, -gib/4)
		for _, h := range chunks {
			require.NoError(t, b.Release(h))
		}
		return nil
	})
	device := l.sim.Report().Devices[0]
	assert.Equal(t, Device{Used: gib / 2, Peak: 3.5 * gib}, device)
}

func TestMappedMemoryKeepsItsContents(t *testing.T) {
	const chunk = 2 << 20
	l := newLab(t, Config{})
	host := l.pinned(chunk)
	l.must(func(b *driver.Bound) error {
		at, err := b.AddressReserve(2*chunk, 0)
		require.NoError(t, err)
		h, err := b.Create(chunk)
		require.NoError(t, err)
		require.NoError(t, b.Map(at, chunk, h))
		require.NoError(t, b.Fill(at, 9, chunk, l.a))
		require.NoError(t, b.Synchronize(l.a))
		require.NoError(t, b.Unmap(at, chunk))
		require.NoError(t, b.Map(at+chunk, chunk, h))
		require.NoError(t, b.CopyToHost(host, at+chunk, l.a))
		require.NoError(t, b.Synchronize(l.a))
		require.NoError(t, b.Unmap(at+chunk, chunk))
		require.NoError(t, b.Release(h))
		return b.AddressFree(at, 2*chunk)
	})
	for _, v := range host {
		require.EqualValues(t, 9, v)
	}
}

func TestUnmappingWhatIsStillUsed(t *testing.T) {
	const chunk = 2 << 20
	l := newLab(t, Config{})
	l.must(func(b *driver.Bound) error {
		at, err := b.AddressReserve(chunk, 0)
		require.NoError(t, err)
		h, err := b.Create(chunk)
		require.NoError(t, err)
		require.NoError(t, b.Map(at, chunk, h))
		require.NoError(t, b.Fill(at, 9, chunk, l.a))
		require.NoError(t, b.Unmap(at, chunk))
		require.NoError(t, b.Release(h))
		return b.AddressFree(at, chunk)
	})
	assert.True(t, driver.Is(l.settle(), illegalAddress), "the fill finds nothing there")
	l.sim.Expect(KindBounds)
	l.requireFound(KindBusy, "fill of 2097152 bytes")
}

func TestALaunchThatWouldBlock(t *testing.T) {
	l := newLab(t, Config{Outstanding: 20})
	p := l.zeroed(64)
	for range 20 {
		require.NoError(t, launch(l, l.a, "selftest_poke", 32, 32, &pokeArgs{P: p, Write: 1}, 0))
	}
	require.Empty(t, l.sim.Report().Violations)
	require.NoError(t, launch(l, l.a, "selftest_poke", 32, 32, &pokeArgs{P: p, Write: 1}, 0))
	l.requireFound(KindOutstanding, "cuLaunchKernel blocks: 20 operations")
	assert.EqualValues(t, 20, l.sim.Report().MaxOutstanding)
}

func TestLaunchesThatTheDeviceRefuses(t *testing.T) {
	for name, d := range map[string]driver.Launch{
		"more threads than the kernel takes": {Block: driver.Dim3{X: 512}},
		"a block of two dimensions":          {Block: driver.Dim3{X: 16, Y: 2}},
		"more blocks in y than there may be": {Grid: driver.Dim3{X: 1, Y: 1 << 16}},
		"dynamic shared memory":              {SharedBytes: 64},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, Config{})
			err := l.do(func(b *driver.Bound) (err error) {
				d.Stream = l.a
				d.Function, err = b.Function(l.module, "selftest_poke")
				require.NoError(t, err)
				return b.Start(d, make([]byte, 64))
			})
			assert.True(t, driver.Is(err, driver.Result(1)), "%v", err)
			l.requireFound(KindLimit, "selftest_poke")
		})
	}
}

func TestImages(t *testing.T) {
	l := newLab(t, Config{})
	l.must(func(b *driver.Bound) error {
		_, err := b.LoadModule([]byte("neither a fat binary nor PTX"))
		assert.True(t, driver.Is(err, driver.Result(200)))
		_, err = b.Function(l.module, "no_such_kernel")
		assert.True(t, driver.Is(err, driver.ErrorNotFound))
		m, err := b.LoadModule([]byte("\x50\xed\x55\xba and so on"))
		require.NoError(t, err)
		f, err := b.Function(m, "selftest_poke")
		require.NoError(t, err)
		threads, err := b.FunctionAttribute(f, driver.FuncMaxThreadsPerBlock)
		require.NoError(t, err)
		assert.Equal(t, 32, threads)
		return b.UnloadModule(m)
	})
}

func TestCallsThatWaitForTheWholeDevice(t *testing.T) {
	l := newLab(t, Config{})
	p := l.alloc(64)
	l.must(func(b *driver.Bound) error {
		q, err := b.MemAlloc(64)
		require.NoError(t, err)
		require.NoError(t, b.Fill(p, 0, 64, l.a))
		require.NoError(t, b.Fill(p, 0, 64, l.a))
		return b.MemFreeDeviceWide(q)
	})
	r := l.sim.Report()
	assert.Equal(t, []DeviceWide{{Call: "cuMemFree", Outstanding: 2}}, r.DeviceWide)
	assert.Zero(t, r.Outstanding)
}

func TestTheTimelineOverlapsUploadsWithKernels(t *testing.T) {
	l := newLab(t, Config{Trace: true})
	const bytes = 16 << 20
	p, q, host := l.zeroed(64), l.alloc(bytes), l.pinned(bytes)
	require.NoError(t, launch(l, l.a, "selftest_add", 1<<20, 256, &addArgs{Sum: p, A: p, B: p}, 0))
	l.must(func(b *driver.Bound) error { return b.CopyToDevice(q, host[:64], l.b) })
	require.NoError(t, l.settle())
	timeline := map[string]Operation{}
	for _, o := range l.sim.Report().Trace {
		timeline[o.Name] = o
	}
	kernel, ok := timeline["selftest_add"]
	require.True(t, ok)
	for name, o := range timeline {
		if name != kernel.Name && o.Stream != kernel.Stream {
			assert.Less(t, kernel.StartNS, o.StartNS, name)
			assert.Greater(t, kernel.EndNS, o.EndNS, name)
		}
	}
	assert.Len(t, timeline, 3)
}
