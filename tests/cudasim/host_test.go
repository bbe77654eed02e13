//go:build linux && (amd64 || arm64)

package cudasim

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/cuda/driver"
)

// registered is page-aligned memory that kernels of every context may read
// until it is unregistered, at the latest when the test ends.
func (l *lab) registered() (memory []byte, at driver.DevicePtr) {
	l.t.Helper()
	memory = hostMemory(l.t)
	l.must(func(b *driver.Bound) (err error) {
		if err = b.HostRegister(memory); err != nil {
			return err
		}
		at, err = b.HostAddress(memory)
		return err
	})
	l.t.Cleanup(func() { _ = l.do(func(b *driver.Bound) error { return b.HostUnregister(memory) }) })
	return memory, at
}

func readOf(at driver.DevicePtr, bytes uint64) driver.Range {
	return driver.Range{Base: at, Bytes: bytes, Mode: driver.Read}
}

func TestKernelsReadRegisteredMemory(t *testing.T) {
	l := newLab(t, Config{Declared: true})
	memory, at := l.registered()
	result := l.zeroed(4)
	memory[8] = 42
	args := pokeArgs{P: at, Result: result, Index: 2}
	require.NoError(t, launch(l, l.a, "selftest_poke", 32, 32, &args, 0,
		readOf(at, 64), driver.Range{Base: result, Bytes: 4, Mode: driver.Write}))
	back := l.pinned(4)
	l.must(func(b *driver.Bound) error { return b.CopyToHost(back, result, l.a) })
	require.NoError(t, l.settle())
	assert.Equal(t, []byte{42, 0, 0, 0}, back)
	assert.Empty(t, l.sim.Report().Violations)
}

// TestMisusesOfHostMemory plants one mistake each in a kernel's access to
// memory of the host.
func TestMisusesOfHostMemory(t *testing.T) {
	const portable, deviceMap = 1, 2
	const illegalAddress = 700
	for name, test := range map[string]struct {
		flags    uint32 // of the registration
		index    uint64 // of the word that is touched
		write    uint32
		declared uint64 // bytes
		other    bool   // the kernel runs in another context
		code     driver.Result
		kind     string
		part     string
	}{
		"a read past what is declared":     {portable | deviceMap, 16, 0, 64, false, 0, KindUndeclared, "read of 4 bytes of host memory"},
		"a write of what is read only":     {portable | deviceMap, 0, 1, 64, false, 0, KindUndeclared, "write of 4 bytes of host memory"},
		"a read past the registered pages": {portable | deviceMap, 1 << 13, 0, 1 << 16, false, illegalAddress, KindBounds, "read of 4 bytes"},
		"pages for copies only":            {portable, 0, 0, 64, false, illegalAddress, KindBounds, "read of 4 bytes"},
		"pages of another context":         {deviceMap, 0, 0, 64, true, illegalAddress, KindBounds, "read of 4 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, Config{Declared: true})
			memory, result := hostMemory(t), l.zeroed(4)
			var register func(p unsafe.Pointer, bytes uint64, flags uint32) int32
			bindRaw(t, "cuMemHostRegister_v2", &register)
			l.must(func(*driver.Bound) error {
				require.Zero(t, register(unsafe.Pointer(&memory[0]), uint64(len(memory)/2), test.flags))
				return nil
			})
			t.Cleanup(func() { _ = l.do(func(b *driver.Bound) error { return b.HostUnregister(memory) }) })
			runs := l
			if test.other {
				runs = newLabIn(t, l.sim)
				result = runs.zeroed(4)
			}
			at := hostAddress(memory)
			args := pokeArgs{P: at, Result: result, Index: test.index, Write: test.write}
			require.NoError(t, launch(runs, runs.a, "selftest_poke", 32, 32, &args, 0,
				readOf(at, test.declared), driver.Range{Base: result, Bytes: 4, Mode: driver.Write}))
			err := runs.settle()
			if test.code == 0 {
				require.NoError(t, err)
			} else {
				require.True(t, driver.Is(err, test.code), "%v", err)
			}
			l.requireFound(test.kind, test.part)
		})
	}
}

func TestAddressesOfHostMemory(t *testing.T) {
	l := newLab(t, Config{})
	memory := hostMemory(t)
	err := l.do(func(b *driver.Bound) error {
		_, err := b.HostAddress(memory)
		return err
	})
	assert.True(t, driver.Is(err, driver.Result(1)), "%v", err)
	l.requireFound(KindUnpinned, "is not pinned")
}

func TestUnregisteredUnderAKernel(t *testing.T) {
	l := newLab(t, Config{Declared: true})
	memory, at := l.registered()
	result := l.zeroed(4)
	args := pokeArgs{P: at, Result: result}
	require.NoError(t, launch(l, l.a, "selftest_poke", 32, 32, &args, 0,
		readOf(at, 64), driver.Range{Base: result, Bytes: 4, Mode: driver.Write}))
	l.must(func(b *driver.Bound) error { return b.HostUnregister(memory) })
	assert.Error(t, l.settle(), "the pages are gone")
	l.sim.Expect(KindBusy)
	l.sim.Expect(KindBounds)
	assert.Contains(t, l.messages(KindBusy)[0], `"selftest_poke" uses the memory`)
}

// TestRegistrationsEndWithTheirContext leaves one behind, which is reported,
// and registers the same memory again.
func TestRegistrationsEndWithTheirContext(t *testing.T) {
	sim := open(t, "selftest", Config{})
	memory := hostMemory(t)
	for range 2 {
		ctx := newContext(t, 0)
		require.NoError(t, ctx.Main().Do(func(b *driver.Bound) error { return b.HostRegister(memory) }))
		require.NoError(t, ctx.Close())
	}
	sim.Expect(KindRelease)
	require.Len(t, sim.Report().Violations, 2)
	assert.Contains(t, sim.Report().Violations[0].Message, "0 device allocations and 1 pinned buffers")
}
