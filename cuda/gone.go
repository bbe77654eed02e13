package cuda

import (
	"errors"
	"fmt"

	"github.com/libcuzk/libcuzk/cuda/driver"
	"github.com/libcuzk/libcuzk/engine/backend"
)

// goneError is for a card on which the driver makes no context any more in this
// process. After most errors of a kernel that is what the driver documents: the
// process is "in an inconsistent state" and has to be started anew (cuda.h of
// CUDA 13.0, CUDA_ERROR_ILLEGAL_ADDRESS and others). Measured on an H200 with
// driver 580.159.04: so it is after 700, 710, 716 and 719, for every card of the
// process. Nothing tells beforehand: after other errors the next context may work.
func goneError(card *driver.Device, refusal error) *backend.GoneError {
	return &backend.GoneError{Err: fmt.Errorf(
		"cuda: %s is lost for as long as this process runs, restart the process: the driver makes no new context there: %w",
		card.String(), refusal)}
}

// hungError is for a card on which work does not end. Its context is not touched
// any more: each call that would end it waits for that work.
func hungError(card *driver.Device, why error) *backend.GoneError {
	return &backend.GoneError{Err: fmt.Errorf(
		"cuda: %s hangs and is lost for as long as this process runs, restart the process: %w", card.String(), why)}
}

// hangs reports whether the card was given up because work on it does not end.
func (d *device) hangs() bool { return d.current.Load().Registrar.Hangs.Load() }

// refusesContext reports whether err says that the driver makes no context with
// the error of another one that has failed.
func refusesContext(err error) bool {
	var e *driver.Error
	return driver.Sticky(err) && errors.As(err, &e) && e.Call == "cuCtxCreate"
}
