//go:build linux && (amd64 || arm64)

package cudasim

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/cuda/driver"
)

// creations makes n chunks, releases those that came, and returns the errors.
func creations(l *lab, n int) []error {
	errs := make([]error, n)
	l.must(func(b *driver.Bound) error {
		for i := range errs {
			var h driver.Allocation
			if h, errs[i] = b.Create(2 << 20); errs[i] == nil {
				require.NoError(l.t, b.Release(h))
			}
		}
		return nil
	})
	return errs
}

func TestFaultsStrikeTheCallThatIsNamed(t *testing.T) {
	for name, test := range map[string]struct {
		fault Fault
		fails []bool
	}{
		"the third call":                 {Fault{Call: "cuMemCreate", Nth: 3, Code: 2}, []bool{false, false, true, false, false}},
		"from the third on":              {Fault{Call: "cuMemCreate", Nth: 3, FromThenOn: true, Code: 2}, []bool{false, false, true, true, true}},
		"every one":                      {Fault{Call: "cuMemCreate", Code: 2}, []bool{true, true, true, true, true}},
		"another function":               {Fault{Call: "cuMemMap", Code: 2}, []bool{false, false, false, false, false}},
		"the fifth call of any function": {Fault{Call: AnyCall, Nth: 5, Code: 2}, []bool{false, false, true, false, false}},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, Config{})
			l.sim.Fault(test.fault)
			for i, err := range creations(l, len(test.fails)) {
				assert.Equal(t, test.fails[i], driver.Is(err, driver.ErrorOutOfMemory), "call %d: %v", i+1, err)
			}
			l.sim.ClearFaults()
			for _, err := range creations(l, 2) {
				assert.NoError(t, err)
			}
		})
	}
}

func TestACodeThatStays(t *testing.T) {
	l := newLab(t, Config{})
	l.sim.Fault(Fault{Call: "cuEventCreate", Nth: 2, Code: 214, Sticky: true})
	newEvent := func(b *driver.Bound) error {
		_, err := b.NewEvent()
		return err
	}
	require.NoError(t, l.do(newEvent))
	for range 3 {
		assert.True(t, driver.Is(l.do(newEvent), driver.Result(214)))
	}
	assert.True(t, driver.Is(l.settle(), driver.Result(214)))
	other := newContext(t, 0)
	assert.NoError(t, other.Main().Do(newEvent), "a new context is sound")
}

// TestContextsAfterABrokenOne asks for a context on the device whose context was
// broken, before and after that is destroyed, and on another device.
func TestContextsAfterABrokenOne(t *testing.T) {
	for name, test := range map[string]struct {
		code     int
		recovers bool
		refused  bool
	}{
		"an illegal address":            {700, false, true},
		"a misaligned address":          {716, false, true},
		"a launch that failed":          {719, false, true},
		"an assertion":                  {710, false, false},
		"an uncorrectable memory error": {214, false, false},
		"a driver that always recovers": {700, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, Config{Devices: 2, Recovers: test.recovers})
			lost := newContext(t, 0)
			l.sim.Fault(Fault{Call: "cuCtxSynchronize", Nth: 1, Code: test.code, Sticky: true})
			require.Error(t, lost.Main().Do((*driver.Bound).SynchronizeDeviceWide))
			check := func() {
				t.Helper()
				next, err := lost.Device().NewContext()
				if test.refused {
					assert.True(t, driver.Is(err, driver.Result(test.code)), "%v", err)
				} else if assert.NoError(t, err) {
					assert.NoError(t, next.Close())
				}
			}
			check()
			require.NoError(t, lost.Close())
			check()
			newContext(t, 1)
		})
	}
}

func TestAnOperationThatFails(t *testing.T) {
	for name, enqueue := range map[string]func(l *lab, p driver.DevicePtr) error{
		RunKernel: func(l *lab, p driver.DevicePtr) error {
			return launch(l, l.a, "selftest_poke", 32, 32, &pokeArgs{P: p, Write: 1}, 0)
		},
		RunFill: func(l *lab, p driver.DevicePtr) error {
			return l.do(func(b *driver.Bound) error { return b.Fill(p, 0, 64, l.a) })
		},
		RunCopy: func(l *lab, p driver.DevicePtr) error {
			host := l.pinned(64)
			return l.do(func(b *driver.Bound) error { return b.CopyToDevice(p, host, l.a) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, Config{})
			p := l.alloc(64)
			l.sim.Fault(Fault{Call: name, Nth: 2, Code: 719})
			require.NoError(t, enqueue(l, p))
			require.NoError(t, l.settle())
			require.NoError(t, enqueue(l, p), "the enqueueing succeeds")
			e := l.event(l.a)
			l.must(func(b *driver.Bound) error {
				for {
					if done, err := b.Done(e); err != nil {
						assert.True(t, driver.Is(err, launchFailed))
						return nil
					} else {
						require.False(t, done)
					}
				}
			})
			assert.True(t, driver.Is(l.settle(), launchFailed))
		})
	}
}

func TestACallThatTakesLong(t *testing.T) {
	l := newLab(t, Config{})
	l.sim.Fault(Fault{Call: "cuMemCreate", Nth: 1, SleepMicroseconds: 50000})
	begin := time.Now()
	assert.NoError(t, creations(l, 1)[0])
	assert.GreaterOrEqual(t, time.Since(begin), 50*time.Millisecond)
	assert.Equal(t, []string{"cuMemCreate"}, l.sim.Report().Struck)
}

func TestANeighbourThatTakesMemory(t *testing.T) {
	l := newLab(t, Config{VRAMBytes: 2 * gib})
	l.sim.Fault(Fault{Call: "cuMemCreate", Nth: 2, SeizeBytes: 2 * gib})
	l.sim.Fault(Fault{Call: "cuMemCreate", Nth: 4, SeizeBytes: -2 * gib})
	for i, err := range creations(l, 5) {
		assert.Equal(t, i == 1 || i == 2, driver.Is(err, driver.ErrorOutOfMemory), "call %d: %v", i+1, err)
	}
}

func TestAReleaseThatFailsIsNoLeak(t *testing.T) {
	l := newLab(t, Config{})
	l.sim.Fault(Fault{Call: "cuMemRelease", Nth: 1, Code: 999})
	l.must(func(b *driver.Bound) error {
		h, err := b.Create(2 << 20)
		require.NoError(t, err)
		assert.True(t, driver.Is(b.Release(h), driver.Result(999)))
		return nil
	})
	assert.EqualValues(t, 1, l.sim.Report().FailedReleases)
	assert.Equal(t, 1, l.sim.Report().Live.Physical)
}

func TestSettingsThatDoNotExist(t *testing.T) {
	sim := open(t, "selftest", Config{})
	for lines, want := range map[string]string{
		"no_such_setting 1":           "unknown setting no_such_setting",
		"vram much":                   "vram: not a number: much",
		"fault nth=1":                 "fault: no call is named",
		"fault call=cuInit often=1":   "fault: unknown key often",
		"fault call=cuInit code=fail": "fault: code=fail: not a number",
		"devices 33":                  "devices: at most 32, and not while there are contexts",
	} {
		var wrong [256]byte
		require.EqualValues(t, 1, sim.library.configure(lines, &wrong[0], uint64(len(wrong))), lines)
		assert.Contains(t, string(wrong[:]), want)
	}
}

// TestVirtualMemoryBesideABrokenContext asks for memory on the broken context's
// thread, on that of another context, and on one without any, then again when
// the broken context is destroyed.
func TestVirtualMemoryBesideABrokenContext(t *testing.T) {
	const code = 700
	for name, test := range map[string]struct {
		mode                   int
		broken, other, unbound bool // whether the call fails
	}{
		"goes on":                     {0, false, false, false},
		"fails where it is current":   {1, true, false, false},
		"fails until it is destroyed": {2, true, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, Config{BrokenVirtual: test.mode})
			lost := newContext(t, 0)
			l.sim.Fault(Fault{Call: "cuCtxSynchronize", Nth: 1, Code: code, Sticky: true})
			require.Error(t, lost.Main().Do((*driver.Bound).SynchronizeDeviceWide))
			create := func(b *driver.Bound) error {
				h, err := b.Create(2 << 20)
				if err != nil {
					return err
				}
				return b.Release(h)
			}
			check := func(fails bool, err error) {
				t.Helper()
				if fails {
					assert.True(t, driver.Is(err, code), "%v", err)
				} else {
					assert.NoError(t, err)
				}
			}
			check(test.broken, lost.Main().Do(create))
			check(test.other, l.do(create))
			check(test.unbound, l.ctx.Device().Unbound(create))
			require.NoError(t, lost.Close())
			check(false, l.do(create))
			check(false, l.ctx.Device().Unbound(create))
		})
	}
}

// TestADeadDevice lets one of two devices answer nothing but a code.
func TestADeadDevice(t *testing.T) {
	const code = 999
	l := newLab(t, Config{Devices: 2})
	l.sim.AllowLeftOver() // a dead device's context is not destroyed
	well := newContext(t, 0)
	ill, err := deviceOf(t, 1).NewContext()
	require.NoError(t, err)
	newEvent := func(b *driver.Bound) error {
		e, err := b.NewEvent()
		if err != nil {
			return err
		}
		return b.DestroyEvent(e)
	}
	l.sim.Fault(Fault{Call: "cuEventCreate", Nth: 2, Code: code, On: 2, Device: 1, Dies: true})
	require.NoError(t, ill.Main().Do(newEvent))
	require.NoError(t, well.Main().Do(newEvent))
	for range 2 {
		assert.True(t, driver.Is(ill.Main().Do(newEvent), code))
		assert.NoError(t, well.Main().Do(newEvent))
	}
	_, err = ill.Device().NewContext()
	assert.True(t, driver.Is(err, code))
	assert.True(t, driver.Is(ill.Close(), code))
}

// TestAnOperationThatNeverEnds lets a kernel run for ever: questions are
// answered, and whoever waits for all of the context's work waits on.
func TestAnOperationThatNeverEnds(t *testing.T) {
	l := newLab(t, Config{})
	p := l.alloc(64)
	l.sim.Fault(Fault{Call: RunKernel, Nth: 1, Hangs: true})
	require.NoError(t, launch(l, l.a, "selftest_poke", 32, 32, &pokeArgs{P: p, Write: 1}, 0))
	e := l.event(l.a)
	for range 100 {
		l.must(func(b *driver.Bound) error {
			done, err := b.Done(e)
			assert.False(t, done)
			return err
		})
	}
	settled := make(chan error, 1)
	go func() { settled <- l.settle() }()
	select {
	case <-settled:
		assert.Fail(t, "a synchronisation has ended before the kernel")
	case <-time.After(50 * time.Millisecond): // however long: it cannot end
	}
	l.sim.Unhang()
	require.NoError(t, <-settled)
}

// visibleVariable is set for the process that TestVisibleDevices starts: the
// devices that it must find, by the last byte of their UUIDs.
const visibleVariable = "CUDASIM_TEST_VISIBLE"

// TestVisibleDevices looks for devices in processes with CUDA_VISIBLE_DEVICES,
// which a driver reads when it is initialised.
func TestVisibleDevices(t *testing.T) {
	if want, here := os.LookupEnv(visibleVariable); here {
		open(t, "selftest", Config{Devices: 3})
		d, err := driver.Open()
		if want == "" {
			require.True(t, driver.Is(err, driver.ErrorNoDevice), "%v", err)
			return
		}
		require.NoError(t, err)
		devices, err := d.Devices()
		require.NoError(t, err)
		found := ""
		for i, dev := range devices {
			assert.Equal(t, i, dev.Ordinal)
			found += fmt.Sprint(dev.UUID[15])
			ctx, err := dev.NewContext()
			require.NoError(t, err)
			require.NoError(t, ctx.Close())
		}
		assert.Equal(t, want, found)
		return
	}
	open(t, "selftest", Config{}) // builds it, once
	for visible, want := range map[string]string{
		"0":                                    "0",
		"2,0":                                  "20",
		"1,7,0":                                "1",
		"":                                     "",
		"-1":                                   "",
		"GPU-6375646173696d206465766963652002": "2",
	} {
		again := exec.Command(os.Args[0], "-test.run=^TestVisibleDevices$")
		again.Env = append(os.Environ(), "CUDA_VISIBLE_DEVICES="+visible, visibleVariable+"="+want)
		output, err := again.CombinedOutput()
		assert.NoError(t, err, "CUDA_VISIBLE_DEVICES=%s: %s", visible, output)
	}
}
