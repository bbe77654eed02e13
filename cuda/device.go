package cuda

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/libcuzk/libcuzk/cuda/driver"
	"github.com/libcuzk/libcuzk/cuda/image"
	"github.com/libcuzk/libcuzk/cuda/internal/devcontext"
	"github.com/libcuzk/libcuzk/cuda/internal/plan"
	"github.com/libcuzk/libcuzk/engine/backend"
	"github.com/libcuzk/libcuzk/engine/srs"
	"github.com/libcuzk/libcuzk/engine/timeline"
	"github.com/libcuzk/libcuzk/internal/sched"
	"github.com/libcuzk/libcuzk/internal/sentinel"
)

const (
	// reserveShare of the free memory, 1/20, is left to others when no budget
	// is set.
	reserveShare = 20
)

// ErrBudget is returned by Open for a budget, or a card, that the context alone
// exceeds.
var ErrBudget = sentinel.New(backend.ErrDeviceMemory, "cuda: the memory budget is too small")

// device is one opened card.
type device struct {
	card    *driver.Device
	images  *image.Set
	options Options
	jobs    *sched.Scheduler

	current atomic.Pointer[devcontext.Context] // replaced when the card is reset, between jobs

	mu     sync.Mutex
	sets   map[*srs.Params]*cardSet // guarded by mu
	closed bool                     // guarded by mu
	tasks  sync.WaitGroup           // one for every Load and Prove

	lost     lostSessions
	refusals refusals
	gone     atomic.Pointer[backend.GoneError] // nil: the card has not been lost for good

	enqueued chan struct{} // tokens of the jobs whose kernels are enqueued and have not all run: plan.tokens
	launched atomic.Int64  // kernels, since the card was opened
	retries  atomic.Uint64 // jobs run again after the card was lost
	streamed atomic.Uint64 // jobs whose set was streamed
}

var _ backend.Device = (*device)(nil)

// openDevice makes the card's context and loads the kernels.
func openDevice(card *driver.Device, images *image.Set, options Options) (*device, error) {
	d := &device{
		card: card, images: images, options: options,
		sets: map[*srs.Params]*cardSet{}, enqueued: make(chan struct{}, plan.MaxEnqueued),
	}
	if _, err := options.jobBudget(card, devcontext.FixedOn(card)); err != nil {
		return nil, err
	}
	s, err := devcontext.New(card, images, options.session())
	switch {
	case refusesContext(err): // one that another engine has lost, or a library beside us
		return nil, goneError(card, err)
	case driver.Of(err, driver.CauseImage) || driver.Of(err, driver.CauseCall) && driver.At(err, "cuModuleGetFunction"):
		return nil, &backend.UnusableError{Err: fmt.Errorf("cuda: %s cannot run the kernels %s: %w", card.String(), images.Origin, err)}
	case err != nil:
		return nil, err
	}
	d.current.Store(s)
	budget, err := options.jobBudget(card, s.FixedBytes())
	if err == nil && options.plansWithWhatIsFree(card) {
		budget, err = freeNow(s, budget)
	}
	if err == nil {
		err = s.RegisterBuffers()
	}
	if err == nil {
		s.Budget, s.Kept = budget, d.lost.bytes
		d.jobs, err = sched.New(s, sched.Config{
			Budget: budget, Chunk: options.chunkBytes, IdleAfter: options.IdleAfter,
			MemoryWait: options.MemoryWait, HangAfter: options.HangAfter, Neighbours: neighboursOf(card.UUID),
			Tracks: timeline.DeviceOf(backend.CUDA, card.Ordinal, card.Name),
		})
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return d, nil
}

// Info implements backend.Device.
func (d *device) Info() backend.Info {
	of := info(d.card, d.images)
	if gone := d.gone.Load(); gone != nil {
		of.Unusable = gone.Error()
	}
	return of
}

// begin keeps Close waiting until done is called. Once the card is gone nothing
// begins.
func (d *device) begin() (done func(), err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, fmt.Errorf("cuda: %s: %w", d.card.String(), backend.ErrClosed)
	}
	if gone := d.gone.Load(); gone != nil {
		return nil, gone
	}
	d.tasks.Add(1)
	return d.tasks.Done, nil
}

// known are the records of all sets.
func (d *device) known() []*cardSet {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Collect(maps.Values(d.sets))
}

// Close implements backend.Device.
func (d *device) Close() (err error) {
	defer func() { err = ofKind(err) }()
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		return nil
	}
	d.closed = true
	d.mu.Unlock()
	d.tasks.Wait()
	for _, r := range d.known() {
		d.letGo(r)
	}
	var failed error
	if d.jobs.Lost() != nil {
		failed = d.recover(context.Background())
	}
	failed = errors.Join(failed, d.jobs.Close(context.Background()))
	if d.hangs() {
		return nil // whatever would give something back waits for work that does not end
	}
	return d.giveBack(failed)
}

// giveBack ends the session. failed is what has gone wrong before; that the
// card was lost meanwhile does not matter if all is given back in the end, or
// if the card is gone and the driver lets nothing more go before the process ends.
func (d *device) giveBack(failed error) error {
	s := d.current.Load()
	left := d.takeBack(s.Watch.Do)
	failed = errors.Join(failed, s.Close())
	if s.Driver.Closed() && s.HoldsMemory() {
		d.lost.add(s.Streams)
	}
	if !d.lost.empty() {
		left = d.takeBack(d.card.Unbound)
	}
	if d.gone.Load() != nil && driver.Sticky(left) {
		left = nil
	}
	if lost := d.jobs.Lost() != nil || driver.Lost(failed); lost && left == nil && s.Driver.Closed() {
		return nil
	}
	return errors.Join(failed, left)
}
