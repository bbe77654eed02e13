package engine

import (
	"errors"

	"github.com/libcuzk/libcuzk/engine/backend"
)

// isGone reports whether err says that d is lost for as long as the process
// lives. From then on d gets no more jobs, and is listed as unusable.
func (d *device) isGone(err error) bool {
	var gone *backend.GoneError
	if !errors.As(err, &gone) {
		return false
	}
	if d.gone.CompareAndSwap(nil, gone) {
		d.engine.log.Error("device is gone until the process is restarted", "device", d.info.Name, "error", gone)
	}
	return true
}

// infoNow is the device's info with the reason why it is not used any more.
func (d *device) infoNow() backend.Info {
	info := d.info
	if gone := d.gone.Load(); gone != nil {
		info.Unusable = gone.Error()
	}
	return info
}

// usable reports whether the device takes jobs.
func (d *device) usable() bool { return d.info.Unusable == "" && d.gone.Load() == nil }

// preferredOrFallback are the devices that take jobs for AnyDevice: the
// preferred ones that are not gone; after the last of them the CPU, if it is
// the fallback. If none is left the error says why.
func (e *Engine) preferredOrFallback() ([]*device, error) {
	var left []*device
	for _, d := range e.preferred {
		if d.usable() {
			left = append(left, d)
		}
	}
	if len(left) == 0 && e.fallback == FallbackCPU {
		for _, d := range e.devices {
			if d.info.Backend == backend.CPU && d.usable() {
				left = append(left, d)
			}
		}
	}
	if len(left) == 0 {
		return nil, e.preferred[0].gone.Load()
	}
	return left, nil
}
