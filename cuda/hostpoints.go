package cuda

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/libcuzk/libcuzk/cuda/driver"
	"github.com/libcuzk/libcuzk/cuda/launch"
	"github.com/libcuzk/libcuzk/engine/sched"
	"github.com/libcuzk/libcuzk/engine/srs"
)

// hostPoints are the points of a parameter set in host memory, pinned so that
// kernels read them over the bus: affine, in Montgomery form and in natural
// order, as package srs keeps them. There is one for all cards of the process.
// One card's context registers it, for the contexts of all, and takes the
// registration back before it ends; then the next job's card registers it.
type hostPoints struct {
	params *srs.Params // holds a reference

	// Guarded by pinnedPoints.mu.

	holders  int      // devices that know the set, and tasks that use it
	readers  int      // jobs that may have copies and kernels which read the points
	busy     bool     // being registered or taken back
	by       *session // registered by its context, or about to be
	sections [][]byte // as registered
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
// set; it waits for no kernel. An error leaves the registration to its context.
func (h *hostPoints) letGo() error {
	pinnedPoints.mu.Lock()
	h.holders--
	for h.busy && h.holders == 0 {
		changed := pinnedPoints.changed
		pinnedPoints.mu.Unlock()
		<-changed
		pinnedPoints.mu.Lock()
	}
	if by := h.by; by != nil && h.holders == 0 {
		h.busy = true
		pinnedPoints.mu.Unlock()
		err := by.on(sched.Load, func(b *driver.Bound, _ driver.Stream) error { return unregister(b, h.sections) })
		pinnedPoints.mu.Lock()
		h.busy = false
		if err == nil {
			h.by = nil
		}
		pointsAreChangedLocked()
	}
	unused := h.forgetLocked()
	pinnedPoints.mu.Unlock()
	if !unused {
		return nil
	}
	return h.params.Release()
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
func (h *hostPoints) read(ctx context.Context, s *session) (done func(), err error) {
	sections, err := h.params.Sections(ctx)
	if err != nil {
		return nil, err
	}
	for {
		pinnedPoints.mu.Lock()
		changed := pinnedPoints.changed
		var registered chan error
		switch {
		case h.busy: // wait
		case h.by != nil:
			h.readers++
			pinnedPoints.mu.Unlock()
			return h.doneReading, nil
		default:
			h.busy, h.by, h.sections = true, s, sections
			registered, changed = make(chan error, 1), nil
			// It cannot be cancelled, but the job can.
			go func() { registered <- h.register(s) }()
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

// isPinned reports whether the points are registered now.
func (h *hostPoints) isPinned() bool {
	pinnedPoints.mu.Lock()
	defer pinnedPoints.mu.Unlock()
	return h.by != nil && !h.busy
}

// register pins the sections on the thread of the load stream, which no job
// waits for. Measured on an H200 host: 36 ms a GiB, also under a kernel.
func (h *hostPoints) register(s *session) error {
	err := s.on(sched.Load, func(b *driver.Bound, _ driver.Stream) error {
		for i, section := range h.sections {
			if err := registerOne(b, section); err != nil {
				return errors.Join(err, unregister(b, h.sections[:i]))
			}
		}
		return nil
	})
	pinnedPoints.mu.Lock()
	defer pinnedPoints.mu.Unlock()
	h.busy = false
	if err != nil {
		h.by = nil
		err = fmt.Errorf("cuda: pinning %d bytes of host memory for parameters %s, which do not fit the memory budget beside a job: %w "+
			"(raise CUZK_VRAM_BUDGET so that they stay on the card, or let the process lock that much memory)",
			h.params.PointBytes(), h.params.Name(), err)
	}
	pointsAreChangedLocked()
	return err
}

// registerOne registers one section, if it has points.
func registerOne(b *driver.Bound, section []byte) error {
	if len(section) == 0 {
		return nil
	}
	err := b.HostRegister(section)
	if driver.Is(err, driver.ErrorHostMemoryAlreadyRegistered) {
		// By a context that has been destroyed since: nobody else registers it.
		if err = b.HostUnregister(section); err == nil {
			err = b.HostRegister(section)
		}
	}
	return err
}

// unregister takes registrations back, and goes on after errors.
func unregister(b *driver.Bound, sections [][]byte) error {
	var failed error
	for _, section := range sections {
		if len(section) > 0 {
			failed = errors.Join(failed, b.HostUnregister(section))
		}
	}
	return failed
}

// addresses are where kernels of s find the sections.
func (h *hostPoints) addresses(s *session) (at [len(allSections)]launch.Range, err error) {
	err = s.on(sched.Load, func(b *driver.Bound, _ driver.Stream) error {
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
func pinnedBy(s *session) (mine []*hostPoints) {
	pinnedPoints.mu.Lock()
	defer pinnedPoints.mu.Unlock()
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
func bytesPinnedBy(s *session) (n uint64) {
	pinnedPoints.mu.Lock()
	defer pinnedPoints.mu.Unlock()
	for _, h := range pinnedPoints.sets {
		if h.by == s && !h.busy {
			n += uint64(h.params.PointBytes())
		}
	}
	return n
}

// takenBack ends what pinnedBy has begun. gone: the registrations are, with
// their context if not before; else they stay with it.
func takenBack(mine []*hostPoints, gone bool) error {
	pinnedPoints.mu.Lock()
	var unused []*hostPoints
	for _, h := range mine {
		h.busy = false
		if gone {
			h.by = nil
		}
		if h.forgetLocked() {
			unused = append(unused, h)
		}
	}
	pointsAreChangedLocked()
	pinnedPoints.mu.Unlock()
	var failed error
	for _, h := range unused {
		failed = errors.Join(failed, h.params.Release())
	}
	return failed
}
