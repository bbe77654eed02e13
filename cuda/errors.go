package cuda

import (
	"errors"

	"github.com/libcuzk/libcuzk/cuda/driver"
	"github.com/libcuzk/libcuzk/engine/backend"
	"github.com/libcuzk/libcuzk/internal/sentinel"
)

// ofKind gives an error that leaves the package its kind: callers know nothing
// of the driver. Inside, the driver's error says more.
func ofKind(err error) error {
	var call *driver.Error
	switch {
	case err == nil, errors.Is(err, backend.ErrDeviceLost), errors.Is(err, backend.ErrDeviceMemory):
		return err
	case errors.Is(err, driver.ErrClosed): // the context ended under a call: only a reset ends one in use
		return sentinel.Wrap(backend.ErrDeviceLost, err)
	case driver.Is(err, driver.ErrorOutOfMemory):
		return sentinel.Wrap(backend.ErrDeviceMemory, err)
	case driver.Sticky(err):
		return sentinel.Wrap(backend.ErrDeviceLost, err)
	case errors.As(err, &call):
		return sentinel.Wrap(backend.ErrDevice, err)
	default:
		return err
	}
}
