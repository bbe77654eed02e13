package cuda

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/libcuzk/libcuzk/cuda/driver"
	"github.com/libcuzk/libcuzk/engine/backend"
	"github.com/libcuzk/libcuzk/engine/groth16"
	"github.com/libcuzk/libcuzk/engine/srs"
	"github.com/libcuzk/libcuzk/internal/sched"
	"github.com/libcuzk/libcuzk/internal/vram"
)

func TestKindsOfErrors(t *testing.T) {
	failed := func(code driver.Result) error {
		return fmt.Errorf("upload: %w", &driver.Error{Call: "cuX", Code: code})
	}
	kinds := []error{backend.ErrDevice, backend.ErrDeviceLost, backend.ErrDeviceMemory, backend.ErrHostMemory, backend.ErrNoDevice, backend.ErrClosed}
	for name, c := range map[string]struct {
		err  error
		want []error
	}{
		"a driver call":                      {failed(driver.ErrorInvalidValue), []error{backend.ErrDevice}},
		"a driver call out of memory":        {failed(driver.ErrorOutOfMemory), []error{backend.ErrDeviceMemory}},
		"a driver call after which all fail": {failed(700), []error{backend.ErrDeviceLost}},
		"a context that ended":               {fmt.Errorf("upload: %w", driver.ErrClosed), []error{backend.ErrDeviceLost}},
		"a context that ended by an error":   {errors.Join(failed(driver.ErrorOutOfMemory), driver.ErrClosed), []error{backend.ErrDeviceLost}},
		"a loss by a driver call":            {fmt.Errorf("%w: %w", sched.ErrDeviceLost, failed(1)), []error{backend.ErrDeviceLost}},
		"a loss for good":                    {&backend.GoneError{Err: failed(700)}, []error{backend.ErrDeviceLost}},
		"memory that others use":             {fmt.Errorf("%w: %w", sched.ErrNoMemory, failed(700)), []error{backend.ErrDeviceMemory}},
		"a job that cannot fit":              {&vram.TooLargeError{}, []error{backend.ErrDeviceMemory}},
		"a device that stays busy":           {&backend.BusyError{Err: failed(driver.ErrorOutOfMemory)}, []error{backend.ErrDeviceMemory}},
		"points that cannot be pinned": {fmt.Errorf("%w: %w", srs.ErrMemory, &driver.Error{Call: "cuMemHostRegister", Code: driver.ErrorOutOfMemory}),
			[]error{backend.ErrHostMemory}},
		"a driver call that nothing explains": {failed(999), []error{backend.ErrDeviceLost}},
		"one of several such":                 {errors.Join(failed(1), failed(999)), []error{backend.ErrDeviceLost}},
		"an old driver":                       {driver.ErrOldDriver, []error{backend.ErrNoDevice}},
		"a scalar out of range":               {groth16.ErrScalarRange, nil},
		"no error":                            {nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := ofKind(c.err)
			assert.Equal(t, fmt.Sprint(c.err), fmt.Sprint(got), "the text")
			assert.ErrorIs(t, got, c.err)
			for _, kind := range kinds {
				want := false
				for _, w := range c.want {
					want = want || w == kind
				}
				assert.Equal(t, want, errors.Is(got, kind), "%v", kind)
			}
		})
	}
}
