package cudatest

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/cuda/driver"
)

func TestCopyThereAndBack(t *testing.T) {
	c := Open(t)
	want := make([]uint32, 1<<20)
	for i := range want {
		want[i] = uint32(i) * 2654435761
	}
	assert.Equal(t, want, Download[uint32](c, Upload(c, want), len(want)))
	assert.Empty(t, Download[uint64](c, Upload(c, []uint64{}), 0))
}

func TestThreadsShareAContext(t *testing.T) {
	c := Open(t)
	p := Upload(c, []uint64{1, 2, 3})
	second, err := c.Context.NewThread()
	require.NoError(t, err)
	require.NoError(t, second.Do(func(b *driver.Bound) error {
		if err := b.Fill(p, 0xff, 8, c.Stream); err != nil {
			return err
		}
		return b.Synchronize(c.Stream)
	}))
	assert.Equal(t, []uint64{1<<64 - 1, 2, 3}, Download[uint64](c, p, 3))
	assert.PanicsWithValue(t, "on the thread", func() {
		defer func() {
			text, _ := recover().(string)
			assert.Contains(t, text, "on the thread")
			panic("on the thread")
		}()
		_ = second.Do(func(*driver.Bound) error { panic("on the thread") })
	})
}

func TestVirtualMemory(t *testing.T) {
	c := Open(t)
	c.Do(func(b *driver.Bound) error {
		unit, err := b.Granularity()
		require.NoError(t, err)
		require.Positive(t, unit)
		at, err := b.AddressReserve(4*unit, 0)
		require.NoError(t, err)
		h, err := b.Create(2 * unit)
		require.NoError(t, err)
		require.NoError(t, b.Map(at+driver.DevicePtr(unit), 2*unit, h))
		require.NoError(t, b.Fill(at+driver.DevicePtr(unit), 7, 2*unit, c.Stream))
		require.NoError(t, b.Synchronize(c.Stream))
		require.NoError(t, b.Unmap(at+driver.DevicePtr(unit), 2*unit))
		require.NoError(t, b.Release(h))
		return b.AddressFree(at, 4*unit)
	})
}

func TestTooMuchMemorySaysHowMuch(t *testing.T) {
	c := Open(t)
	err := c.Context.Main().Do(func(b *driver.Bound) error {
		_, err := b.MemAlloc(1 << 50)
		return err
	})
	assert.True(t, driver.Is(err, driver.ErrorOutOfMemory))
	assert.ErrorContains(t, err, "cuMemAlloc 1125899906842624 bytes on gpu0")
}

func TestClosedContext(t *testing.T) {
	ctx, err := Device(t).NewContext()
	require.NoError(t, err)
	thread, err := ctx.NewThread()
	require.NoError(t, err)
	require.NoError(t, ctx.Close())
	require.NoError(t, ctx.Close(), "closing twice is closing once")
	nothing := func(*driver.Bound) error { return nil }
	assert.ErrorIs(t, ctx.Main().Do(nothing), driver.ErrClosed)
	assert.ErrorIs(t, thread.Do(nothing), driver.ErrClosed)
	_, err = ctx.NewThread()
	assert.ErrorIs(t, err, driver.ErrClosed)
}
