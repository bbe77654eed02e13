package engine

import (
	"errors"
	"fmt"
	"time"

	"github.com/libcuzk/libcuzk/engine/backend"
	"github.com/libcuzk/libcuzk/internal/sched"
)

// avoidFor is how long a device that could not work gets no job that may run
// elsewhere. Then the next one tries it.
const avoidFor = time.Minute

// avoidance is why a device gets no job that may run elsewhere, and until when.
type avoidance struct {
	until time.Time // with its monotonic reading: setting the clock changes nothing
	why   error
}

// openError is a device that cannot be opened now.
type openError struct{ err error }

func (e *openError) Error() string { return e.err.Error() }
func (e *openError) Unwrap() error { return e.err }

// unwell reports whether err says that a device cannot work now, whatever the
// job: it is lost, it cannot be opened, or others have taken its memory. Another
// device may work.
func unwell(err error) bool {
	var open *openError
	return errors.Is(err, ErrDeviceLost) || errors.As(err, &open) || errors.Is(err, sched.ErrNoMemory)
}

// avoid keeps jobs that may run elsewhere away from d for a while. Who fails at
// once has always the fewest partitions, and would get all of them.
func (d *device) avoid(why error) {
	if !d.avoided() {
		d.engine.log.Warn("device is avoided", "device", d.info.Name, "for", avoidFor, "reason", why)
	}
	d.avoidance.Store(&avoidance{time.Now().Add(avoidFor), why})
}

// avoided reports whether d could not work a short time ago.
func (d *device) avoided() bool {
	a := d.avoidance.Load()
	return a != nil && time.Now().Before(a.until)
}

// avoidedText says for how long d is avoided and why; empty if it is not.
func (d *device) avoidedText() string {
	a := d.avoidance.Load()
	if a == nil {
		return ""
	}
	left := time.Until(a.until)
	if left <= 0 {
		return ""
	}
	return fmt.Sprintf("avoided for %d s: %v", int(left.Seconds())+1, a.why)
}

// isRefused reports whether err says that d can never work in this process,
// although it was listed as usable. From then on it is listed as what it is.
func (d *device) isRefused(err error) bool {
	var refused *backend.UnusableError
	if !errors.As(err, &refused) {
		return false
	}
	if d.refused.CompareAndSwap(nil, refused) {
		d.engine.log.Warn("device is not used", "backend", d.info.Backend, "device", d.info.Name, "reason", refused)
	}
	return true
}

// outOfUse reports whether err says that d is of no use any more: gone, or
// refused.
func (d *device) outOfUse(err error) bool { return d.isGone(err) || d.isRefused(err) }

// why is the error of a device that is out of use, or nil.
func (d *device) why() error {
	if gone := d.gone.Load(); gone != nil {
		return gone
	}
	if refused := d.refused.Load(); refused != nil {
		return refused
	}
	return nil
}
