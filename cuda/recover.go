package cuda

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/libcuzk/libcuzk/cuda/driver"
	"github.com/libcuzk/libcuzk/cuda/internal/devcontext"
	"github.com/libcuzk/libcuzk/engine/backend"
	"github.com/libcuzk/libcuzk/internal/sched"
)

// withRecovery runs a job, and once more if the card was lost meanwhile, has
// been reset, and again says that the job's memory may still be read.
func (d *device) withRecovery(ctx context.Context, again func() bool, do func() error) error {
	err := d.judged(do())
	if !errors.Is(err, sched.ErrDeviceLost) {
		return err
	}
	// Not until ctx ends: before the reset, what the job has enqueued may still run
	// and read the set's points, which may be freed when the job has ended.
	if failed := d.recover(context.WithoutCancel(ctx)); failed != nil {
		var gone *backend.GoneError
		if errors.As(failed, &gone) {
			return fmt.Errorf("%w; it was lost after: %w", gone, err)
		}
		return errors.Join(err, failed)
	}
	if !again() {
		return fmt.Errorf("%w; %s has been reset, try again", err, d.card.String())
	}
	d.retries.Add(1)
	return d.judged(do())
}

// judged marks what a job returns as a loss if it is one: whatever nothing of
// ours explains, at any call, and a call that an idle device refuses twice in
// the same way, although its arguments were right for every job before.
func (d *device) judged(err error) error {
	err = devcontext.MarkLost(err)
	if !errors.Is(err, sched.ErrDeviceLost) && d.refusals.again(err) && d.jobs.Stats().Outstanding == 0 {
		err = fmt.Errorf("%w: twice on an idle device: %w", sched.ErrDeviceLost, err)
	}
	return d.jobs.Noted(err)
}

// refusals is the last call that the driver refused a job.
type refusals struct {
	mu   sync.Mutex
	call string        // guarded by mu
	code driver.Result // guarded by mu; driver.Success: the last job was refused none
}

// again notes how a job ended, and reports whether the one before it ended with
// the same refusal. Too little memory is none: it says nothing of the device.
func (r *refusals) again(err error) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	before, at := r.code, r.call
	r.call, r.code = "", driver.Success
	var e *driver.Error
	if !errors.As(err, &e) || e.Cause() != driver.CauseCall {
		return false
	}
	r.call, r.code = e.Call, e.Code
	return before == e.Code && at == e.Call
}

// recover makes a lost card usable again, once all its jobs have failed. If the
// driver refuses that for good, the card is gone: it is not asked again.
func (d *device) recover(ctx context.Context) error {
	return d.jobs.Recover(ctx, func() (sched.Device, error) {
		if gone := d.gone.Load(); gone != nil {
			return nil, gone
		}
		old := d.current.Load()
		if err := d.jobs.Lost(); errors.Is(err, sched.ErrHung) {
			old.Registrar.Hangs.Store(true)
			gone := hungError(d.card, err)
			d.gone.Store(gone)
			return nil, gone
		}
		// Its errors tell of the loss again, which is known.
		_ = old.Close()
		if !old.Driver.Closed() {
			return nil, fmt.Errorf("cuda: the driver does not destroy the lost context of %s", d.card.String())
		}
		d.lost.add(old.Streams)
		// Before the new context, which may need what the old one held.
		_ = d.takeBack(d.card.Unbound)
		s, err := devcontext.New(d.card, d.images, d.options.session())
		if err == nil {
			if err = s.RegisterBuffers(); err != nil {
				err = errors.Join(err, s.Close())
			}
		}
		switch {
		case driver.Sticky(err): // of the context, or of the first calls on it
			gone := goneError(d.card, err)
			d.gone.Store(gone)
			return nil, gone
		case err != nil:
			return nil, err
		}
		// What stays is counted, and tried again when the device is closed.
		_ = d.takeBack(s.Watch.Do)
		s.Budget, s.Kept = old.Budget, old.Kept
		d.current.Store(s)
		return s, nil
	})
}

// Context is the context in use, which a reset replaces: for tests that break it.
func (d *device) Context() *driver.Context { return d.current.Load().Driver }

// lostSessions are destroyed contexts whose physical memory and addresses the
// driver has not taken back yet. Those are the process's: in general they
// outlive a context, and a driver in trouble may refuse them for a while.
type lostSessions struct {
	mu   sync.Mutex
	list []*devcontext.Streams // guarded by mu
}

func (l *lostSessions) add(old *devcontext.Streams) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !slices.Contains(l.list, old) {
		l.list = append(l.list, old)
	}
}

func (l *lostSessions) empty() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.list) == 0
}

// bytes is how much of the card they hold.
func (l *lostSessions) bytes() (n uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, old := range l.list {
		n += old.MappedBytes()
	}
	return n
}

// takeBack gives the memory of lost contexts back through calls that do runs.
func (d *device) takeBack(do func(func(*driver.Bound) error) error) error {
	l := &d.lost
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.list) == 0 {
		return nil
	}
	return do(func(b *driver.Bound) error {
		var failed error
		l.list = slices.DeleteFunc(l.list, func(old *devcontext.Streams) bool {
			err := old.UnmapRest(b)
			failed = errors.Join(failed, err)
			return err == nil
		})
		return failed
	})
}
