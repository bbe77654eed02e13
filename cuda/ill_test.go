package cuda

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/cuda/driver"
	"github.com/libcuzk/libcuzk/engine/backend"
	"github.com/libcuzk/libcuzk/internal/circuits/synth"
	"github.com/libcuzk/libcuzk/internal/sched"
	"github.com/libcuzk/libcuzk/tests/cudasim"
)

// TestADeviceThatDiesWhileIdle breaks the context between two jobs with errors
// that nothing of ours explains, at the calls that a job makes first and at some
// that it makes later: the next job is proved after a reset.
func TestADeviceThatDiesWhileIdle(t *testing.T) {
	needsFaults(t)
	p := makeProven(t, synth.Dense(60, 3), 1)
	for _, call := range []string{"cuEventQuery", "cuEventRecord", "cuMemcpyHtoDAsync", "cuLaunchKernel", "cuStreamWaitEvent", "cuMemcpyDtoHAsync"} {
		for _, code := range []int{999, 46, 101, 201, 304, 709, 802} {
			if call != "cuEventQuery" && code != 999 && code != 201 {
				continue // the rule is of the code: each call sees that it is asked
			}
			t.Run(fmt.Sprintf("%s answers %d", call, code), func(t *testing.T) {
				d, sim := open(t, Options{}, cudasim.Config{})
				got, err := sums(t.Context(), d, p)
				require.NoError(t, err)
				p.check(t, got)
				sim.Fault(cudasim.Fault{Call: call, Nth: 1, Code: code, Sticky: true})
				_, err = sums(t.Context(), d, p)
				if err != nil { // its rows had been read
					require.ErrorIs(t, err, backend.ErrDeviceLost)
					assert.ErrorContains(t, err, "has been reset, try again")
				}
				got, err = sums(t.Context(), d, p)
				require.NoError(t, err)
				p.check(t, got)
				assert.EqualValues(t, 1, d.jobs.Stats().Losses)
			})
		}
	}
}

// TestWhatAnIdleDeviceRefusesTwice lets a call fail again and again with an
// error that its arguments could explain: the second time it is the device.
func TestWhatAnIdleDeviceRefusesTwice(t *testing.T) {
	needsFaults(t)
	p := makeProven(t, synth.Dense(60, 3), 1)
	for _, code := range []int{1, 400, 800} {
		t.Run(fmt.Sprint(code), func(t *testing.T) {
			d, sim := open(t, Options{}, cudasim.Config{})
			require.NoError(t, d.Load(t.Context(), p.params))
			once := cudasim.Fault{Call: "cuMemcpyHtoDAsync", Nth: 1, Code: code}
			sim.Fault(once)
			_, err := sums(t.Context(), d, p)
			require.ErrorIs(t, err, backend.ErrDevice)
			require.NotErrorIs(t, err, backend.ErrDeviceLost)
			sim.Fault(once)
			_, err = sums(t.Context(), d, p)
			if err != nil {
				require.ErrorIs(t, err, backend.ErrDeviceLost)
			}
			got, err := sums(t.Context(), d, p)
			require.NoError(t, err)
			p.check(t, got)
			assert.EqualValues(t, 1, d.jobs.Stats().Losses)
		})
	}
}

// TestMemoryThatIsTheHosts refuses what a device needs of the machine: no error
// says that the device has too little.
func TestMemoryThatIsTheHosts(t *testing.T) {
	needsFaults(t)
	for name, test := range map[string]struct {
		call string
		code int
		text string
	}{
		"pinned buffers": {"cuMemHostAlloc", 2, "cuMemHostAlloc"},
		"pinned buffers, by the operating system": {"cuMemHostAlloc", 304, "cuMemHostAlloc"},
		"addresses": {"cuMemAddressReserve", 2, "too few addresses left"},
	} {
		t.Run(name, func(t *testing.T) {
			sim := cudasim.New(t, cudasim.Config{})
			sim.Fault(cudasim.Fault{Call: test.call, Code: test.code})
			_, err := NewProvider(Options{}).Open(0)
			require.ErrorIs(t, err, backend.ErrHostMemory)
			assert.NotErrorIs(t, err, backend.ErrDeviceMemory)
			assert.ErrorContains(t, err, test.text)
			assert.NotContains(t, err.Error(), "others hold")
		})
	}
}

// TestADeadDevice lets one of two devices answer nothing but 999 from some
// moment on, as one that has fallen off the bus: every job there ends with a
// loss, and the other device proves.
func TestADeadDevice(t *testing.T) {
	needsFaults(t)
	p := makeProven(t, synth.Dense(60, 3), 1)
	sim := cudasim.New(t, cudasim.Config{Devices: 2})
	provider := NewProvider(Options{})
	var opened [2]backend.Device
	for i := range opened {
		var err error
		opened[i], err = provider.Open(i)
		require.NoError(t, err)
		got, err := sums(t.Context(), opened[i], p)
		require.NoError(t, err)
		p.check(t, got)
	}
	sim.Fault(cudasim.Fault{Call: "cuEventQuery", Nth: 1, Code: 999, On: 1, Dies: true})
	for range 3 {
		_, err := sums(t.Context(), opened[0], p)
		require.ErrorIs(t, err, backend.ErrDeviceLost)
		got, err := sums(t.Context(), opened[1], p)
		require.NoError(t, err)
		p.check(t, got)
	}
	assert.Error(t, opened[0].Close())
	assert.NoError(t, opened[1].Close())
}

// TestADeviceThatDoesNotSayWhoItIs lets one of two devices answer no question
// about itself: it is listed with the reason, and the other one is used.
func TestADeviceThatDoesNotSayWhoItIs(t *testing.T) {
	needsFaults(t)
	p := makeProven(t, synth.Dense(20, 3), 1)
	for _, call := range []string{"cuDeviceGetName", "cuDeviceTotalMem", "cuDeviceGetUuid", "cuDeviceGetAttribute"} {
		for ill := range 2 {
			t.Run(fmt.Sprintf("%s of device %d", call, ill), func(t *testing.T) {
				sim := cudasim.New(t, cudasim.Config{Devices: 2})
				sim.Fault(cudasim.Fault{Call: call, Code: 999, On: ill + 1})
				provider := NewProvider(Options{})
				infos, err := provider.Devices()
				require.NoError(t, err)
				require.Len(t, infos, 2)
				assert.Contains(t, infos[ill].Unusable, call)
				assert.NotEmpty(t, infos[ill].Name)
				assert.Empty(t, infos[1-ill].Unusable)
				_, err = provider.Open(ill)
				assert.ErrorContains(t, err, call)
				assert.ErrorIs(t, err, backend.ErrNoDevice)
				assert.ErrorIs(t, err, backend.ErrDeviceLost, "the kind of the call's error")
				assert.True(t, driver.Is(err, 999), "%v", err)
				opened, err := provider.Open(1 - ill)
				require.NoError(t, err)
				got, err := sums(t.Context(), opened, p)
				require.NoError(t, err)
				p.check(t, got)
				require.NoError(t, opened.Close())
			})
		}
	}
}

// TestADeviceThatHangs lets a kernel or a copy never end: the job fails, the
// device is gone, and neither loading nor closing waits for it. The other device
// goes on.
func TestADeviceThatHangs(t *testing.T) {
	needsFaults(t)
	p, q := makeProven(t, synth.Dense(60, 3), 1), makeProven(t, synth.Dense(20, 3), 2)
	for name, hang := range map[string]cudasim.Fault{
		"the first kernel of a job":  {Call: cudasim.RunKernel, Nth: 1},
		"a later kernel":             {Call: cudasim.RunKernel, Nth: 40},
		"a copy to the device":       {Call: cudasim.RunCopy, Nth: 2},
		"the copy of the results":    {Call: cudasim.RunCopy, Nth: 5},
		"a kernel of a set's points": {Call: cudasim.RunKernel, Nth: 3},
	} {
		t.Run(name, func(t *testing.T) {
			const hangAfter = 3 * time.Second // longer than a busy machine pauses between two kernels
			sim := cudasim.New(t, cudasim.Config{Devices: 2})
			sim.AllowLeftOver() // what the device that hangs has
			defer sim.Unhang()
			provider := NewProvider(Options{HangAfter: hangAfter})
			ill, err := provider.Open(0)
			require.NoError(t, err)
			well, err := provider.Open(1)
			require.NoError(t, err)
			if name != "a kernel of a set's points" {
				got, err := sums(t.Context(), ill, p)
				require.NoError(t, err)
				p.check(t, got)
			}
			hang.Hangs, hang.On = true, 1
			sim.Fault(hang)
			_, err = sums(t.Context(), ill, p)
			var gone *backend.GoneError
			require.ErrorAs(t, err, &gone)
			assert.ErrorIs(t, err, sched.ErrHung)
			assert.ErrorContains(t, err, "gpu0 cudasim device 0 hangs")
			assert.Contains(t, ill.Info().Unusable, "hangs")
			assert.ErrorAs(t, ill.Load(t.Context(), q.params), &gone)
			got, err := sums(t.Context(), well, p)
			require.NoError(t, err)
			p.check(t, got)
			ill.Drop(p.params)
			require.NoError(t, ill.Close())
			well.Drop(p.params)
			require.NoError(t, well.Close())
		})
	}
}

// TestKernelsThatCannotBeLoaded opens a device for which the images are damaged,
// or of another device: it is unusable, which the engine lists.
func TestKernelsThatCannotBeLoaded(t *testing.T) {
	needsFaults(t)
	for call, codes := range map[string][]int{"cuModuleLoadData": {200, 209, 218, 300}, "cuModuleGetFunction": {500}} {
		for _, code := range codes {
			t.Run(fmt.Sprintf("%s answers %d", call, code), func(t *testing.T) {
				sim := cudasim.New(t, cudasim.Config{})
				sim.Fault(cudasim.Fault{Call: call, Nth: 3, Code: code})
				_, err := NewProvider(Options{}).Open(0)
				var unusable *backend.UnusableError
				require.ErrorAs(t, err, &unusable)
				assert.ErrorIs(t, err, backend.ErrNoDevice)
				assert.ErrorContains(t, err, fmt.Sprintf("CUresult %d", code))
				assert.ErrorContains(t, err, "cannot run the kernels CUZK_KERNELS=")
			})
		}
	}
}
