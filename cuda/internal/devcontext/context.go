package devcontext

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
	// LoadSlots is the ring for parameter files, and the buffers on the device
	// that their bytes are decoded from.
	LoadSlots = 8

	// TileSlots is the ring of the job in its compute turn, for witnesses that
	// go in rounds.
	TileSlots = 4
)

// Options are what a provider's options say about a context.
type Options struct {
	Host      *registered.Memory // what the provider's users ask for; nil: nothing
	Planted   func(step string)  // called at each step of a job; nil: nothing is
	HangAfter time.Duration      // that a copy may last; 0: for ever
	Threads   int                // goroutines that fill the upload ring
	Slots     int                // buffers of the upload ring
}

// Context is all that lives and dies with a context.
type Context struct {
	*Streams
	Kernels   *Modules
	Uploads   *staging.Ring    // belongs to the upload turn
	Loads     *staging.Ring    // belongs to the load that is under way
	Tiles     *staging.Ring    // belongs to the compute turn
	Decode    driver.DevicePtr // KeptBytes: the buffers, then the tables, then the status of a load
	local     uint64           // bytes of local memory reserved for a thread
	Results   Results
	Stamps    Stamps
	options   Options
	Registrar *registered.Registrar // of options.host, and of points of sets

	Budget uint64        // bytes that may be mapped for jobs and sets
	Kept   func() uint64 // bytes that lost contexts of the device still hold

	Tables map[uint32]*TableSet // by logarithm of the domain; belongs to the compute turn
}

// TableSet is the twiddles of one domain.
type TableSet struct {
	launch.Tables
	Memory driver.DevicePtr // of its own, if the context has none for it
	Filled bool             // the kernels that fill it have been enqueued
}

// New makes a context, loads the kernels and takes what it needs of the
// device for good. It pins no host memory: a device that turns out to have no room
// for jobs is asked again and again.
func New(dev *driver.Device, images *image.Set, options Options) (*Context, error) {
	l, err := newStreams(dev)
	if err != nil {
		return nil, err
	}
	s := &Context{Streams: l, Registrar: &registered.Registrar{Context: l.Driver}, options: options, Tables: map[uint32]*TableSet{}}
	if err := l.Watch.Do(func(b *driver.Bound) error { return s.fill(b, images) }); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Map implements sched.Device. What a lost context has not given back counts
// against the budget, which the device had before the reset.
func (s *Context) Map(offset, bytes uint64) error {
	kept := s.Kept()
	if mapped := s.MappedBytes(); kept > 0 && mapped+kept+bytes > s.Budget {
		return fmt.Errorf("%w: %d bytes more than the %d that are mapped; of the budget of %d bytes for jobs, a lost context of %s holds %d that the driver does not take back",
			sched.ErrNoMemory, bytes, mapped, s.Budget, s.Driver.Device().String(), kept)
	}
	return s.Streams.Map(offset, bytes)
}

// Step says where a job is; see Options.planted.
func (s *Context) Step(name string) {
	if s.options.Planted != nil {
		s.options.Planted(name)
	}
}

func (s *Context) fill(b *driver.Bound, images *image.Set) (err error) {
	if s.Kernels, err = loadKernels(b, images); err != nil {
		return err
	}
	if err = s.reserve(b); err != nil {
		return err
	}
	s.Decode, err = b.MemAlloc(KeptBytes)
	return err
}

// RegisterBuffers makes the context complete: it pins the rings, and what its provider was
// asked to pin. After an error close gives back what there is.
func (s *Context) RegisterBuffers() error {
	err := s.Watch.Do(func(b *driver.Bound) error { return s.pinBuffers(b) })
	if err == nil {
		s.options.Host.Enter(s.Registrar)
	}
	return err
}

func (s *Context) pinBuffers(b *driver.Bound) (err error) {
	for _, r := range []struct {
		ring    **staging.Ring
		slots   int
		threads int
	}{{&s.Uploads, s.options.Slots, s.options.Threads}, {&s.Loads, LoadSlots, LoadSlots}, {&s.Tiles, TileSlots, TileSlots}} {
		if *r.ring, err = staging.NewRing(b, r.slots, r.threads); err != nil {
			return err
		}
		(*r.ring).HangAfter = s.options.HangAfter
	}
	return s.Results.prepare(b)
}

// Close gives everything back and destroys the context; nothing of the ledger
// is mapped any more, and no job runs. It goes on after errors: a lost context
// refuses most calls. What the driver refuses stays for another call.
func (s *Context) Close() (failed error) {
	pinned := registered.BeginUnregister(s.Registrar)
	// Also if something panics: the jobs of other devices wait for this.
	defer func() { failed = errors.Join(failed, registered.EndUnregister(pinned)) }()
	err := s.Watch.Do(func(b *driver.Bound) error { return s.release(b, pinned) })
	if errors.Is(err, driver.ErrClosed) {
		err = nil
	}
	err = errors.Join(err, s.options.Host.Leave(s.Registrar), s.Streams.close())
	if s.Driver.Closed() {
		// Not before: what a lost context does not unpin ends with it.
		s.options.Host.RegisterRest()
	}
	return err
}

// release is close for all that needs the context current.
func (s *Context) release(b *driver.Bound, pinned []*registered.Points) error {
	failed := b.SynchronizeDeviceWide()
	for _, h := range pinned {
		failed = errors.Join(failed, h.Unregister(b))
	}
	for _, r := range []*staging.Ring{s.Uploads, s.Loads, s.Tiles} {
		if r != nil {
			failed = errors.Join(failed, r.Release(b))
		}
	}
	failed = errors.Join(failed, s.Results.Release(b), s.Stamps.Release(b))
	for _, t := range s.Tables {
		failed = errors.Join(failed, freeOnce(b, &t.Memory))
		t.Filled = false
	}
	failed = errors.Join(failed, freeOnce(b, &s.Decode))
	if s.Kernels != nil {
		failed = errors.Join(failed, s.Kernels.Close(b))
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

// RegisteredBytes is the host memory of all rings and results, and what programs asked for.
func (s *Context) RegisteredBytes() uint64 {
	slots := len(s.Uploads.Slots) + len(s.Loads.Slots) + len(s.Tiles.Slots)
	s.Results.mu.Lock()
	defer s.Results.mu.Unlock()
	return uint64(slots)*staging.SlotBytes + uint64(len(s.Results.All))*plan.MaxResultBytes + s.Registrar.MemoryBytes()
}
