package cuda

import (
	"errors"
	"fmt"
	"time"

	"github.com/libcuzk/libcuzk/cuda/driver"
	"github.com/libcuzk/libcuzk/cuda/image"
	"github.com/libcuzk/libcuzk/cuda/internal/plan"
	"github.com/libcuzk/libcuzk/cuda/internal/registered"
	"github.com/libcuzk/libcuzk/cuda/internal/staging"
	"github.com/libcuzk/libcuzk/internal/launch"
	"github.com/libcuzk/libcuzk/internal/sched"
)

const (
	// loadSlots is the ring for parameter files, and the buffers on the card
	// that their bytes are decoded from.
	loadSlots = 8

	// tileSlots is the ring of the job in its compute turn, for witnesses that
	// go in rounds.
	tileSlots = 4
)

// sessionOptions are what a provider's options say about a context.
type sessionOptions struct {
	host      *registered.Memory // what the provider's users ask for; nil: nothing
	planted   func(step string)  // called at each step of a job; nil: nothing is
	hangAfter time.Duration      // that a copy may last; 0: for ever
	threads   int                // goroutines that fill the upload ring
	slots     int                // buffers of the upload ring
}

// session is all that lives and dies with a context.
type session struct {
	*lanes
	kernels *kernelTable
	uploads *staging.Ring    // belongs to the upload turn
	loads   *staging.Ring    // belongs to the load that is under way
	tiles   *staging.Ring    // belongs to the compute turn
	decode  driver.DevicePtr // sessionBytes: the buffers, then the tables, then the status of a load
	local   uint64           // bytes of local memory reserved for a thread
	results resultPool
	stamps  stamps
	options sessionOptions
	pins    *registered.Registrar // of options.host, and of points of sets

	budget uint64        // bytes that may be mapped for jobs and sets
	kept   func() uint64 // bytes that lost contexts of the card still hold

	tables map[uint32]*tableSet // by logarithm of the domain; belongs to the compute turn
}

// tableSet is the twiddles of one domain.
type tableSet struct {
	launch.Tables
	memory driver.DevicePtr // of its own, if the session has none for it
	filled bool             // the kernels that fill it have been enqueued
}

// newSession makes a context, loads the kernels and takes what it needs of the
// card for good. It pins no host memory: a card that turns out to have no room
// for jobs is asked again and again.
func newSession(card *driver.Device, images *image.Set, options sessionOptions) (*session, error) {
	l, err := newLanes(card)
	if err != nil {
		return nil, err
	}
	s := &session{lanes: l, pins: &registered.Registrar{Context: l.context}, options: options, tables: map[uint32]*tableSet{}}
	if err := l.watch.Do(func(b *driver.Bound) error { return s.fill(b, images) }); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// Map implements sched.Device. What a lost context has not given back counts
// against the budget, which the card had before the reset.
func (s *session) Map(offset, bytes uint64) error {
	kept := s.kept()
	if mapped := s.mappedBytes(); kept > 0 && mapped+kept+bytes > s.budget {
		return fmt.Errorf("%w: %d bytes more than the %d that are mapped; of the budget of %d bytes for jobs, a lost context of %s holds %d that the driver does not take back",
			sched.ErrNoMemory, bytes, mapped, s.budget, s.context.Device().String(), kept)
	}
	return s.lanes.Map(offset, bytes)
}

// step says where a job is; see sessionOptions.planted.
func (s *session) step(name string) {
	if s.options.planted != nil {
		s.options.planted(name)
	}
}

func (s *session) fill(b *driver.Bound, images *image.Set) (err error) {
	if s.kernels, err = loadKernels(b, images); err != nil {
		return err
	}
	if err = s.reserve(b); err != nil {
		return err
	}
	s.decode, err = b.MemAlloc(sessionBytes)
	return err
}

// pin makes the session complete: it pins the rings, and what its provider was
// asked to pin. After an error close gives back what there is.
func (s *session) pin() error {
	err := s.watch.Do(func(b *driver.Bound) error { return s.pinBuffers(b) })
	if err == nil {
		s.options.host.Enter(s.pins)
	}
	return err
}

func (s *session) pinBuffers(b *driver.Bound) (err error) {
	for _, r := range []struct {
		ring    **staging.Ring
		slots   int
		threads int
	}{{&s.uploads, s.options.slots, s.options.threads}, {&s.loads, loadSlots, loadSlots}, {&s.tiles, tileSlots, tileSlots}} {
		if *r.ring, err = staging.NewRing(b, r.slots, r.threads); err != nil {
			return err
		}
		(*r.ring).HangAfter = s.options.hangAfter
	}
	return s.results.prepare(b)
}

// close gives everything back and destroys the context; nothing of the ledger
// is mapped any more, and no job runs. It goes on after errors: a lost context
// refuses most calls. What the driver refuses stays for another call.
func (s *session) close() (failed error) {
	pinned := registered.BeginUnregister(s.pins)
	// Also if something panics: the jobs of other cards wait for this.
	defer func() { failed = errors.Join(failed, registered.EndUnregister(pinned)) }()
	err := s.watch.Do(func(b *driver.Bound) error { return s.release(b, pinned) })
	if errors.Is(err, driver.ErrClosed) {
		err = nil
	}
	err = errors.Join(err, s.options.host.Leave(s.pins), s.lanes.close())
	if s.context.Closed() {
		// Not before: what a lost context does not unpin ends with it.
		s.options.host.RegisterRest()
	}
	return err
}

// release is close for all that needs the context current.
func (s *session) release(b *driver.Bound, pinned []*registered.Points) error {
	failed := b.SynchronizeDeviceWide()
	for _, h := range pinned {
		failed = errors.Join(failed, h.Unregister(b))
	}
	for _, r := range []*staging.Ring{s.uploads, s.loads, s.tiles} {
		if r != nil {
			failed = errors.Join(failed, r.Release(b))
		}
	}
	failed = errors.Join(failed, s.results.release(b), s.stamps.release(b))
	for _, t := range s.tables {
		failed = errors.Join(failed, freeOnce(b, &t.memory))
		t.filled = false
	}
	failed = errors.Join(failed, freeOnce(b, &s.decode))
	if s.kernels != nil {
		failed = errors.Join(failed, s.kernels.Close(b))
	}
	return failed
}

// freeOnce frees p unless it is none, and sets it to none.
func freeOnce(b *driver.Bound, p *driver.DevicePtr) error {
	if *p == 0 {
		return nil
	}
	err := b.MemFreeDeviceWide(*p)
	if err == nil {
		*p = 0
	}
	return err
}

// pinned is the host memory of all rings and results, and what AllocHost gave.
func (s *session) pinned() uint64 {
	slots := len(s.uploads.Slots) + len(s.loads.Slots) + len(s.tiles.Slots)
	s.results.mu.Lock()
	defer s.results.mu.Unlock()
	return uint64(slots)*staging.SlotBytes + uint64(len(s.results.all))*plan.MaxResultBytes + s.pins.MemoryBytes()
}
