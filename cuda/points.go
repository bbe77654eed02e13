package cuda

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

// hostPoints are the points of a parameter set in host memory, pinned so that
// kernels read them over the bus: affine, in Montgomery form and in natural
// order, as package srs keeps them. There is one for all cards of the process.
// One card's context registers it, for the contexts of all, and takes the
// registration back before it ends; then the next job's card registers it.
type hostPoints struct {
	params *srs.Params // holds a reference

	// Guarded by pinnedPoints.mu.

	holders int        // devices that know the set, and tasks that use it
	readers int        // jobs that may have copies and kernels which read the points
	busy    bool       // being registered or taken back
	by      *registrar // whose context registers; nil: nothing is registered

	// Belong to whoever has set busy; else guarded as the above.

	sections [][]byte
	pinned   [len(plan.AllSections)]bool
}

// pinnedPoints are all of them. What is waited for here is a card of which all
// jobs have ended, a registration, or running jobs: never the other way round.
var pinnedPoints = struct {
	mu      sync.Mutex
	changed chan struct{}               // closed and replaced at every change
	sets    map[*srs.Params]*hostPoints // of holders, or not yet taken back
}{changed: make(chan struct{}), sets: map[*srs.Params]*hostPoints{}}

// holdPoints finds or makes the host points of a set. letGo ends it.
func holdPoints(p *srs.Params) (*hostPoints, error) {
	pinnedPoints.mu.Lock()
	defer pinnedPoints.mu.Unlock()
	h := pinnedPoints.sets[p]
	if h == nil {
		if err := p.Retain(); err != nil {
			return nil, err
		}
		h = &hostPoints{params: p}
		pinnedPoints.sets[p] = h
	}
	h.holders++
	return h, nil
}

// pointsAreChangedLocked wakes whoever waits for a change.
func pointsAreChangedLocked() {
	close(pinnedPoints.changed)
	pinnedPoints.changed = make(chan struct{})
}

// letGo ends a hold. The last one takes the registration back and releases the
// set, or leaves that to whoever registers it or takes it back right now, which
// lasts seconds: it waits for no registration and for no kernel.
func (h *hostPoints) letGo() error {
	pinnedPoints.mu.Lock()
	h.holders--
	return h.endUnusedAndUnlock()
}

// endUnusedAndUnlock takes the registration of a set that nobody holds back, and
// releases the set. It is called with pinnedPoints.mu held.
func (h *hostPoints) endUnusedAndUnlock() error {
	if h.by != nil && h.by.hangs.Load() { // its work may read the points until the process ends
		pinnedPoints.mu.Unlock()
		return nil
	}
	if by := h.by; by != nil && h.holders == 0 && !h.busy {
		h.busy = true
		pinnedPoints.mu.Unlock()
		// What the driver refuses to unpin stays with its context.
		_ = by.unpins.Do(by.context, h.unpin)
		pinnedPoints.mu.Lock()
		h.notBusyLocked()
	}
	unused := h.forgetLocked()
	pinnedPoints.mu.Unlock()
	if !unused {
		return nil
	}
	return h.params.Release()
}

// notBusyLocked ends a registration, or its end.
func (h *hostPoints) notBusyLocked() {
	h.busy = false
	if !slices.Contains(h.pinned[:], true) {
		h.by = nil
	}
	pointsAreChangedLocked()
}

// forgetLocked drops a set that nobody holds and nothing has registered. If it
// reports true the caller releases the set, not under the lock.
func (h *hostPoints) forgetLocked() bool {
	if h.holders > 0 || h.by != nil || h.busy || pinnedPoints.sets[h.params] != h {
		return false
	}
	delete(pinnedPoints.sets, h.params)
	return true
}

// read makes the points readable for a job on the card of s, until done is
// called: everything that the job enqueued must have ended then. The first call
// reads the set's file, converts and checks it on all cores, and registers the
// memory.
func (h *hostPoints) read(ctx context.Context, s *registrar) (done func(), err error) {
	sched.MayWait("a registration of host memory")
	sections, err := h.params.Sections(ctx)
	if err != nil {
		return nil, err
	}
	for {
		pinnedPoints.mu.Lock()
		changed := pinnedPoints.changed
		var registered chan error
		switch {
		case h.busy || h.by != nil && h.by.ending: // wait
		case h.isWhole():
			h.readers++
			pinnedPoints.mu.Unlock()
			return h.doneReading, nil
		case s.ending: // its registration would end with the context, unnoticed
			pinnedPoints.mu.Unlock()
			return nil, driver.ErrClosed
		default:
			if h.busy, h.sections = true, sections; h.by == nil {
				h.by = s
			}
			registered, changed = make(chan error, 1), nil
			by := h.by
			// It cannot be cancelled, but the job can.
			go func() {
				err := h.register(by)
				if err != nil && by != s { // not this card's trouble, whatever it is
					err = errors.New(err.Error())
				}
				registered <- err
			}()
		}
		pinnedPoints.mu.Unlock()
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

func (h *hostPoints) doneReading() {
	pinnedPoints.mu.Lock()
	defer pinnedPoints.mu.Unlock()
	h.readers--
	pointsAreChangedLocked()
}

// isWhole reports whether all sections are registered; of one set only what
// the driver refused to unpin may be.
func (h *hostPoints) isWhole() bool {
	if h.sections == nil {
		return false
	}
	for i, section := range h.sections {
		if len(section) > 0 && !h.pinned[i] {
			return false
		}
	}
	return true
}

// isPinned reports whether the points can be read now.
func (h *hostPoints) isPinned() bool {
	pinnedPoints.mu.Lock()
	defer pinnedPoints.mu.Unlock()
	return !h.busy && h.isWhole()
}

// register pins the sections on a thread of its own, which nothing else waits
// for. Measured on an H200 host: 36 ms a GiB, also under a kernel.
func (h *hostPoints) register(by *registrar) error {
	err := by.pins.Do(by.context, func(b *driver.Bound) error {
		err := h.pin(b)
		if err != nil {
			err = errors.Join(err, h.unpin(b))
		}
		return err
	})
	if err != nil && !driver.Lost(err) {
		err = fmt.Errorf("cuda: %s: pinning %d bytes of host memory for parameters %s, which do not fit the memory budget beside a job: %w: %w "+
			"(raise CUZK_VRAM_BUDGET so that they stay on the card, or let the process lock that much memory)",
			by.context.Device().String(), h.params.PointBytes(), h.params.Name(), srs.ErrMemory, err)
	}
	pinnedPoints.mu.Lock()
	h.notBusyLocked()
	return errors.Join(err, h.endUnusedAndUnlock())
}

// pin registers the sections that have points and are not registered.
func (h *hostPoints) pin(b *driver.Bound) error {
	for i, section := range h.sections {
		if len(section) == 0 || h.pinned[i] {
			continue
		}
		if err := register(b, section); err != nil {
			return err
		}
		h.pinned[i] = true
	}
	return nil
}

// unpin takes registrations back, and goes on after errors.
func (h *hostPoints) unpin(b *driver.Bound) error {
	var failed error
	for i, section := range h.sections {
		if !h.pinned[i] {
			continue
		}
		err := b.HostUnregister(section)
		failed = errors.Join(failed, err)
		h.pinned[i] = err != nil
	}
	return failed
}

// addresses are where kernels of s find the sections.
func (h *hostPoints) addresses(s *registrar) (at [len(plan.AllSections)]launch.Range, err error) {
	// Not on the thread that registers, which may be at another set for seconds.
	err = s.context.Main().Do(func(b *driver.Bound) error {
		for i, section := range h.sections {
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

// pinnedBy begins to take back what the context of s has registered: it waits
// until no job of any card reads it, and keeps new ones waiting until takenBack.
// From now on s registers nothing more.
func pinnedBy(s *registrar) (mine []*hostPoints) {
	sched.MayWait("readers of registered host memory")
	pinnedPoints.mu.Lock()
	defer pinnedPoints.mu.Unlock()
	s.ending = true
	for {
		wait := false
		for _, h := range pinnedPoints.sets {
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
		changed := pinnedPoints.changed
		pinnedPoints.mu.Unlock()
		<-changed
		pinnedPoints.mu.Lock()
	}
}

// bytesPinnedBy is how much the context of s has registered.
func bytesPinnedBy(s *registrar) (n uint64) {
	pinnedPoints.mu.Lock()
	defer pinnedPoints.mu.Unlock()
	for _, h := range pinnedPoints.sets {
		if h.by == s && !h.busy && h.isWhole() {
			n += uint64(h.params.PointBytes())
		}
	}
	return n
}

// isEnding reports whether pinnedBy has begun.
func (r *registrar) isEnding() bool {
	pinnedPoints.mu.Lock()
	defer pinnedPoints.mu.Unlock()
	return r.ending
}

// isBusy reports whether the points of p are being registered or unregistered.
func isBusy(p *srs.Params) bool {
	pinnedPoints.mu.Lock()
	defer pinnedPoints.mu.Unlock()
	h := pinnedPoints.sets[p]
	return h != nil && h.busy
}

// setsKept is how many sets' points somebody holds or has registered.
func setsKept() int {
	pinnedPoints.mu.Lock()
	defer pinnedPoints.mu.Unlock()
	return len(pinnedPoints.sets)
}

// takenBack ends what pinnedBy has begun. What the driver has refused to take
// back goes with the context: the next one to register the memory finds out.
func takenBack(mine []*hostPoints) error {
	pinnedPoints.mu.Lock()
	var unused []*hostPoints
	for _, h := range mine {
		h.pinned = [len(plan.AllSections)]bool{}
		h.notBusyLocked()
		if h.forgetLocked() {
			unused = append(unused, h)
		}
	}
	pinnedPoints.mu.Unlock()
	var failed error
	for _, h := range unused {
		failed = errors.Join(failed, h.params.Release())
	}
	return failed
}
