package engine

import (
	"errors"
	"fmt"
	"slices"

	"github.com/libcuzk/libcuzk/engine/backend"
)

// Fallback says where a partition goes whose device was lost, and lost again
// when the partition was retried there after the reset, or is gone for good.
type Fallback int

// The fallbacks. None of them moves a job that names its device, or one whose
// rows the caller may have freed.
const (
	// FallbackGPU is another device of the same kind, if there is one. Not the
	// CPU: a parameter file of 47 GB would take as much host memory, and every
	// core for minutes, on a machine that needs them to seal. Who started the
	// proof can start it again elsewhere.
	FallbackGPU Fallback = iota
	// FallbackCPU is another device of the same kind, and after the last the CPU.
	// It also takes the jobs that come once all other devices are gone.
	FallbackCPU
	// FallbackNone fails the job.
	FallbackNone
)

func (f Fallback) valid() bool { return f >= FallbackGPU && f <= FallbackNone }

// chooseDevice is the device for one partition: the one named, else the
// preferred one with the fewest partitions on it, of those that are not avoided
// if there are any. One that is gone is not chosen.
func (e *Engine) chooseDevice(index int) (*device, error) {
	if index != AnyDevice {
		devices := e.all()
		if index < 0 || index >= len(devices) {
			return nil, fmt.Errorf("%w: device %d, expected %d (any) or 0 to %d", errNoDevice, index, AnyDevice, len(devices)-1)
		}
		d := devices[index]
		if d.info.Unusable != "" {
			return nil, fmt.Errorf("%w: device %d (%s) cannot be used: %s", errNoDevice, index, d.info.Name, d.info.Unusable)
		}
		if why := d.why(); why != nil {
			return nil, fmt.Errorf("engine: device %d (%s) cannot be used: %w", index, d.info.Name, why)
		}
		return d, nil
	}
	return e.chooseAny(nil)
}

// chooseAny is chooseDevice for AnyDevice, of the devices that were not tried.
func (e *Engine) chooseAny(tried []*device) (*device, error) {
	e.askAgain()
	candidates, err := e.preferredOrFallback(tried)
	if err != nil {
		return nil, fmt.Errorf("engine: no device is left: %w", err)
	}
	var best *device
	bestAvoided := false
	for _, d := range candidates {
		avoided := d.avoided()
		if best == nil || bestAvoided && !avoided || bestAvoided == avoided && d.backlog.Load() < best.backlog.Load() {
			best, bestAvoided = d, avoided
		}
	}
	return best, nil
}

// preferredOrFallback are the devices that take jobs for AnyDevice, less those
// that were tried: the preferred ones that are in use; after the last of them
// the CPU, if it is the fallback, or if all of them turned out to be unusable. If
// none is left the error says why.
func (e *Engine) preferredOrFallback(tried []*device) ([]*device, error) {
	r := e.known.Load()
	left := without(tried, r.preferred)
	refused := !slices.ContainsFunc(r.preferred, func(d *device) bool { return d.refused.Load() == nil })
	if len(left) == 0 && (e.fallback == FallbackCPU || refused) {
		left = without(tried, slices.DeleteFunc(slices.Clone(r.devices), func(d *device) bool { return d.info.Backend != backend.CPU }))
		if refused && len(left) > 0 {
			e.toCPU.Do(func() { e.log.Warn("proofs are made on the CPU", "reason", e.GPUReason()) })
		}
	}
	if len(left) > 0 {
		return left, nil
	}
	for _, d := range r.preferred {
		if why := d.why(); why != nil {
			return nil, why
		}
	}
	return nil, errNoDevice
}

// without are the usable devices of a list that were not tried.
func without(tried, list []*device) (left []*device) {
	for _, d := range list {
		if d.usable() && !slices.Contains(tried, d) {
			left = append(left, d)
		}
	}
	return left
}

// moveOn gives a partition that d cannot work on to another device. It reports
// whether that, not the caller, answers for the partition now.
func (d *device) moveOn(p *partition, lost error) bool {
	if !unwell(lost) || p.job.stopped() != nil {
		return false
	}
	d.avoid(lost)
	if p.job.opt.Device != AnyDevice {
		return false
	}
	p.tried = append(p.tried, d)
	to := d.engine.fallbackFor(p)
	if to == nil || !p.rowsNeeded() {
		return false
	}
	p.lost = lost
	if err := p.queueOn(to); err != nil { // the engine is being closed
		return false
	}
	d.engine.log.Warn("moved to another device", "job", p.job.id, "partition", p.index,
		"device", d.info.Name, "to", to.info.Name, "error", lost)
	if p.job.stopped() != nil {
		p.leaveQueue() // who stopped it may have looked before it was there
	}
	return true
}

// fallbackFor is the device with the least to do of those that p may move to;
// nil if there is none.
func (e *Engine) fallbackFor(p *partition) *device {
	if e.fallback == FallbackNone {
		return nil
	}
	var best *device
	kind := p.tried[0].info.Backend
	for _, kind := range []string{kind, backend.CPU} {
		if kind == backend.CPU && e.fallback != FallbackCPU {
			break
		}
		for _, d := range e.all() {
			if d.info.Backend != kind || !d.usable() || slices.Contains(p.tried, d) {
				continue
			}
			if best == nil || best.avoided() && !d.avoided() || best.avoided() == d.avoided() && d.backlog.Load() < best.backlog.Load() {
				best = d
			}
		}
		if best != nil {
			break
		}
	}
	return best
}

// usable reports whether the device takes jobs.
func (d *device) usable() bool { return d.info.Unusable == "" && d.why() == nil }

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

// withLoss adds the reason of the move to the text of a moved partition's error.
// errors.Is sees only the last device's error.
func (p *partition) withLoss(err error) error {
	if err == nil || p.lost == nil {
		return err
	}
	return fmt.Errorf("%w (moved here after: %v)", err, p.lost)
}
