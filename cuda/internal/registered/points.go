package registered

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/libcuzk/libcuzk/cuda/driver"
	"github.com/libcuzk/libcuzk/cuda/internal/plan"
	"github.com/libcuzk/libcuzk/engine/srs"
	"github.com/libcuzk/libcuzk/internal/launch"
	"github.com/libcuzk/libcuzk/internal/sched"
)

// Points are the points of a parameter set in registered host memory, where
// kernels read them over the bus: affine, in Montgomery form and in natural
// order, as package srs keeps them. A set has one Points for all devices of the
// process. The context of one device registers the memory for the contexts of
// all, and unregisters it before it ends; the next partition's device then
// registers it again.
type Points struct {
	params *srs.Params // holds a reference

	// Guarded by pinnedPoints.mu.

	holders int        // devices that know the set, and partitions that use it
	readers int        // partitions that may have copies and kernels which read the points
	busy    bool       // being registered or unregistered
	by      *Registrar // whose context registers; nil: nothing is registered

	// Belong to whoever has set busy; else guarded as the above.

	Sections   [][]byte
	registered [len(plan.AllSections)]bool
}

// registry holds the points of all sets. A caller here may wait until a device
// is idle, for a registration, or for running partitions. None of these may wait
// for the registry.
var registry = struct {
	mu      sync.Mutex
	changed chan struct{}           // closed and replaced at every change
	sets    map[*srs.Params]*Points // that have holders, or are registered
}{changed: make(chan struct{}), sets: map[*srs.Params]*Points{}}

// Acquire finds or makes the host points of a set. Release ends it.
func Acquire(p *srs.Params) (*Points, error) {
	registry.mu.Lock()
	defer registry.mu.Unlock()
	h := registry.sets[p]
	if h == nil {
		if err := p.Retain(); err != nil {
			return nil, err
		}
		h = &Points{params: p}
		registry.sets[p] = h
	}
	h.holders++
	return h, nil
}

// changedLocked wakes whoever waits for a change.
func changedLocked() {
	close(registry.changed)
	registry.changed = make(chan struct{})
}

// Release ends a hold. The last one takes the registration back and releases the
// set, or leaves that to whoever registers it or takes it back right now, which
// lasts seconds: it waits for no registration and for no kernel.
func (h *Points) Release() error {
	registry.mu.Lock()
	h.holders--
	return h.endUnusedAndUnlock()
}

// endUnusedAndUnlock takes the registration of a set that nobody holds back, and
// releases the set. It is called with registry.mu held.
func (h *Points) endUnusedAndUnlock() error {
	if h.by != nil && h.by.Hangs.Load() { // its work may read the points until the process ends
		registry.mu.Unlock()
		return nil
	}
	if by := h.by; by != nil && h.holders == 0 && !h.busy {
		h.busy = true
		registry.mu.Unlock()
		// What the driver refuses to unpin stays with its context.
		_ = by.unregisters.Do(by.Context, h.Unregister)
		registry.mu.Lock()
		h.notBusyLocked()
	}
	unused := h.removeLocked()
	registry.mu.Unlock()
	if !unused {
		return nil
	}
	return h.params.Release()
}

// notBusyLocked ends a registration, or its end.
func (h *Points) notBusyLocked() {
	h.busy = false
	if !slices.Contains(h.registered[:], true) {
		h.by = nil
	}
	changedLocked()
}

// removeLocked drops a set that nobody holds and nothing has registered. If it
// reports true the caller releases the set, not under the lock.
func (h *Points) removeLocked() bool {
	if h.holders > 0 || h.by != nil || h.busy || registry.sets[h.params] != h {
		return false
	}
	delete(registry.sets, h.params)
	return true
}

// Read makes the points readable for a partition on the device of s, until done is
// called: everything that the job enqueued must have ended then. The first call
// reads the set's file, converts and checks it on all cores, and registers the
// memory.
func (h *Points) Read(ctx context.Context, s *Registrar) (done func(), err error) {
	sched.MayWait("a registration of host memory")
	sections, err := h.params.Sections(ctx)
	if err != nil {
		return nil, err
	}
	for {
		registry.mu.Lock()
		changed := registry.changed
		var registered chan error
		switch {
		case h.busy || h.by != nil && h.by.ending: // wait
		case h.isWhole():
			h.readers++
			registry.mu.Unlock()
			return h.doneReading, nil
		case s.ending: // its registration would end with the context, unnoticed
			registry.mu.Unlock()
			return nil, driver.ErrClosed
		default:
			if h.busy, h.Sections = true, sections; h.by == nil {
				h.by = s
			}
			registered, changed = make(chan error, 1), nil
			by := h.by
			// It cannot be cancelled, but the job can.
			go func() {
				err := h.register(by)
				if err != nil && by != s { // not this device's trouble, whatever it is
					err = errors.New(err.Error())
				}
				registered <- err
			}()
		}
		registry.mu.Unlock()
		select {
		case <-changed:
		case err := <-registered:
			if err != nil {
				return nil, err
			}
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

func (h *Points) doneReading() {
	registry.mu.Lock()
	defer registry.mu.Unlock()
	h.readers--
	changedLocked()
}

// isWhole reports whether all sections are registered; of one set only what
// the driver refused to unpin may be.
func (h *Points) isWhole() bool {
	if h.Sections == nil {
		return false
	}
	for i, section := range h.Sections {
		if len(section) > 0 && !h.registered[i] {
			return false
		}
	}
	return true
}

// IsRegistered reports whether the points can be read now.
func (h *Points) IsRegistered() bool {
	registry.mu.Lock()
	defer registry.mu.Unlock()
	return !h.busy && h.isWhole()
}

// register pins the sections on a thread of its own, which nothing else waits
// for. Measured on an H200 host: 36 ms a GiB, also under a kernel.
func (h *Points) register(by *Registrar) error {
	err := by.Points.Do(by.Context, func(b *driver.Bound) error {
		err := h.registerSections(b)
		if err != nil {
			err = errors.Join(err, h.Unregister(b))
		}
		return err
	})
	if err != nil && !driver.Lost(err) {
		err = fmt.Errorf("cuda: %s: pinning %d bytes of host memory for parameters %s, which do not fit the memory budget beside a job: %w: %w "+
			"(raise CUZK_VRAM_BUDGET so that they stay on the GPU, or let the process lock that much memory)",
			by.Context.Device().String(), h.params.PointBytes(), h.params.Name(), srs.ErrMemory, err)
	}
	registry.mu.Lock()
	h.notBusyLocked()
	return errors.Join(err, h.endUnusedAndUnlock())
}

// registerSections registers the sections that have points and are not registered.
func (h *Points) registerSections(b *driver.Bound) error {
	for i, section := range h.Sections {
		if len(section) == 0 || h.registered[i] {
			continue
		}
		if err := register(b, section); err != nil {
			return err
		}
		h.registered[i] = true
	}
	return nil
}

// Unregister takes registrations back, and goes on after errors.
func (h *Points) Unregister(b *driver.Bound) error {
	var failed error
	for i, section := range h.Sections {
		if !h.registered[i] {
			continue
		}
		err := b.HostUnregister(section)
		failed = errors.Join(failed, err)
		h.registered[i] = err != nil
	}
	return failed
}

// Addresses are where kernels of s find the sections.
func (h *Points) Addresses(s *Registrar) (at [len(plan.AllSections)]launch.Range, err error) {
	// Not on the thread that registers, which may be at another set for seconds.
	err = s.Context.Main().Do(func(b *driver.Bound) error {
		for i, section := range h.Sections {
			if len(section) == 0 {
				continue
			}
			p, err := b.HostAddress(section)
			if err != nil {
				return err
			}
			at[i] = launch.Range{Addr: uint64(p), Bytes: uint64(len(section))}
		}
		return nil
	})
	return at, err
}

// BeginUnregister begins to take back what the context of s has registered: it waits
// until no partition of any device reads it, and keeps new ones waiting until EndUnregister.
// From now on s registers nothing more.
func BeginUnregister(s *Registrar) (mine []*Points) {
	sched.MayWait("readers of registered host memory")
	registry.mu.Lock()
	defer registry.mu.Unlock()
	s.ending = true
	for {
		wait := false
		for _, h := range registry.sets {
			switch {
			case h.by != s || slices.Contains(mine, h):
			case h.busy || h.readers > 0:
				wait = true
			default:
				h.busy = true
				mine = append(mine, h)
			}
		}
		if !wait {
			return mine
		}
		changed := registry.changed
		registry.mu.Unlock()
		<-changed
		registry.mu.Lock()
	}
}

// PointBytes is how much the context of s has registered.
func PointBytes(s *Registrar) (n uint64) {
	registry.mu.Lock()
	defer registry.mu.Unlock()
	for _, h := range registry.sets {
		if h.by == s && !h.busy && h.isWhole() {
			n += uint64(h.params.PointBytes())
		}
	}
	return n
}

// IsEnding reports whether pinnedBy has begun.
func (r *Registrar) IsEnding() bool {
	registry.mu.Lock()
	defer registry.mu.Unlock()
	return r.ending
}

// IsBusy reports whether the points of p are being registered or unregistered.
func IsBusy(p *srs.Params) bool {
	registry.mu.Lock()
	defer registry.mu.Unlock()
	h := registry.sets[p]
	return h != nil && h.busy
}

// SetsKept is how many sets' points somebody holds or has registered.
func SetsKept() int {
	registry.mu.Lock()
	defer registry.mu.Unlock()
	return len(registry.sets)
}

// EndUnregister ends what BeginUnregister has begun. What the driver has refused to take
// back goes with the context: the next one to register the memory finds out.
func EndUnregister(mine []*Points) error {
	registry.mu.Lock()
	var unused []*Points
	for _, h := range mine {
		h.registered = [len(plan.AllSections)]bool{}
		h.notBusyLocked()
		if h.removeLocked() {
			unused = append(unused, h)
		}
	}
	registry.mu.Unlock()
	var failed error
	for _, h := range unused {
		failed = errors.Join(failed, h.params.Release())
	}
	return failed
}
