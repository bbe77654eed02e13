package engine

import (
	"errors"
	"slices"
	"time"

	"github.com/libcuzk/libcuzk/engine/backend"
)

// roster is which devices there are. A roster is replaced and never changed, so
// that it is read without a lock. Devices are only added, at the end: a job names
// one by its index.
type roster struct {
	devices   []*device
	preferred []*device // those that take jobs for AnyDevice
	rank      int       // of the preferred ones' provider in Config.Providers
	absent    []absence
}

// absence is a provider without devices.
type absence struct {
	provider backend.Provider
	rank     int // in Config.Providers
	reason   error
}

// all are the devices.
func (e *Engine) all() []*device { return e.known.Load().devices }

// with is the roster with what one provider answered.
func (r *roster) with(e *Engine, p backend.Provider, rank, workers int, infos []backend.Info, err error) *roster {
	next := &roster{slices.Clone(r.devices), r.preferred, r.rank, slices.Clone(r.absent)}
	if err != nil {
		next.absent = append(next.absent, absence{p, rank, err})
	}
	var usable []*device
	for _, info := range infos {
		d := newDevice(e, p, info, workers)
		next.devices = append(next.devices, d)
		if info.Unusable != "" {
			e.log.Warn("device is not used", "backend", info.Backend, "device", info.Name, "reason", info.Unusable)
		} else {
			usable = append(usable, d)
		}
	}
	if len(usable) > 0 && (len(r.preferred) == 0 || rank < r.rank) {
		next.preferred, next.rank = usable, rank
	}
	return next
}

// missing are the reasons of the providers that have no devices.
func (r *roster) missing() (reasons []string) {
	for _, a := range r.absent {
		reasons = append(reasons, a.reason.Error())
	}
	return reasons
}

// askAgainAfter is how long a provider that was not ready is left alone.
const askAgainAfter = 10 * time.Second

// askAgain asks the providers that were not ready, if the last time is long
// enough ago. Of several callers one asks, and the others go on without.
func (e *Engine) askAgain() {
	if !slices.ContainsFunc(e.known.Load().absent, absence.mayPass) || !e.asking.TryLock() {
		return
	}
	defer e.asking.Unlock()
	if time.Since(e.asked) < askAgainAfter {
		return
	}
	e.asked = time.Now()
	r := e.known.Load()
	absent := r.absent
	r = &roster{r.devices, r.preferred, r.rank, nil}
	for _, a := range absent {
		if !a.mayPass() {
			r.absent = append(r.absent, a)
			continue
		}
		infos, err := a.provider.Devices()
		r = r.with(e, a.provider, a.rank, int(e.workers.Load()), infos, err)
		if err == nil {
			e.log.Info("devices are there now", "backend", a.provider.Name(), "devices", len(infos))
		}
	}
	e.known.Store(r)
}

// mayPass reports whether the provider may have devices later.
func (a absence) mayPass() bool { return errors.Is(a.reason, backend.ErrNotReady) }
