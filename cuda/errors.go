package cuda

import (
	"errors"

	"github.com/libcuzk/libcuzk/cuda/driver"
	"github.com/libcuzk/libcuzk/engine/backend"
	"github.com/libcuzk/libcuzk/internal/sentinel"
)

// kinds are what callers hear of the causes of a driver's error.
var kinds = map[driver.Cause]error{
	driver.CauseLoss:         backend.ErrDeviceLost,
	driver.CauseCall:         backend.ErrDevice,
	driver.CauseDeviceMemory: backend.ErrDeviceMemory,
	driver.CauseHostMemory:   backend.ErrHostMemory,
	driver.CauseAddresses:    backend.ErrHostMemory,
	driver.CauseImage:        backend.ErrDevice,
}

// ofKind gives an error that leaves the package its kind: callers know nothing
// of the driver. Inside, the driver's error says more.
func ofKind(err error) error {
	var call *driver.Error
	switch {
	case err == nil, errors.Is(err, backend.ErrDeviceLost), errors.Is(err, backend.ErrDeviceMemory):
		return err
	case errors.Is(err, driver.ErrClosed): // the context ended under a call: only a reset ends one in use
		return sentinel.Wrap(backend.ErrDeviceLost, err)
	case driver.Lost(err): // joined with others, it counts
		return sentinel.Wrap(backend.ErrDeviceLost, err)
	case errors.As(err, &call):
		return sentinel.Wrap(kinds[call.Cause()], err)
	default:
		return err
	}
}
