package cuda

import (
	"context"
	"errors"
	"fmt"

	"github.com/libcuzk/libcuzk/cuda/driver"
	"github.com/libcuzk/libcuzk/cuda/image"
	"github.com/libcuzk/libcuzk/cuda/internal/registered"
	"github.com/libcuzk/libcuzk/cuda/internal/staging"
	"github.com/libcuzk/libcuzk/internal/launch"
	"github.com/libcuzk/libcuzk/internal/sched"
)

const (
	// flyingSlots is how many pinned buffers may be on the bus beside those
	// being filled: 32 MiB, about 0.6 ms of copying.
	flyingSlots = 8

	// maxFillers bounds the goroutines that copy: 16 reach 46.9 GB/s on an
	// H200 host, which is what the bus takes from pageable memory.
	maxFillers = 16

	// freeCores is the share of the cores, 1/8, that no such goroutine takes:
	// whoever holds a lock, or launches, has to find one.
	freeCores = 8

	// loadSlots is the ring for parameter files, and the buffers on the card
	// that their bytes are decoded from.
	loadSlots = 8

	// tileSlots is the ring of the job in its compute turn, for witnesses that
	// go in rounds.
	tileSlots = 4

	// sessionBytes is what a session keeps on the device for good: the decode
	// buffers, tables for every domain up to maxTableLog (8.1 MiB in all, of which
	// they share 8), and the decode status of a load (1.25 KiB).
	sessionBytes = loadSlots*staging.SlotBytes + 10<<20
)

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
	host    *registered.Memory
	pins    *registered.Registrar // of host, and of points of sets

	planted func(step string) // Options.planted

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
func newSession(card *driver.Device, images *image.Set, options Options) (*session, error) {
	l, err := newLanes(card)
	if err != nil {
		return nil, err
	}
	s := &session{lanes: l, host: options.pins, pins: &registered.Registrar{Context: l.context}, planted: options.planted, tables: map[uint32]*tableSet{}}
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

// step says where a job is; see Options.planted.
func (s *session) step(name string) {
	if s.planted != nil {
		s.planted(name)
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
func (s *session) pin(options Options) error {
	err := s.watch.Do(func(b *driver.Bound) error { return s.pinBuffers(b, options) })
	if err == nil {
		s.host.Enter(s.pins)
	}
	return err
}

func (s *session) pinBuffers(b *driver.Bound, options Options) (err error) {
	threads, slots := options.fillers()
	for _, r := range []struct {
		ring    **staging.Ring
		slots   int
		threads int
	}{{&s.uploads, slots, threads}, {&s.loads, loadSlots, loadSlots}, {&s.tiles, tileSlots, tileSlots}} {
		if *r.ring, err = staging.NewRing(b, r.slots, r.threads); err != nil {
			return err
		}
		(*r.ring).HangAfter = options.HangAfter
	}
	return s.results.prepare(b)
}

// tablesFor makes the twiddles of a domain, at their first use enqueueing the
// kernels that fill them. For the job in its compute turn.
func (h *holding) tablesFor(ctx context.Context, logSize uint32) (launch.Tables, error) {
	set := h.tables[logSize]
	if set == nil {
		set = &tableSet{}
		h.tables[logSize] = set
	}
	if set.filled {
		return set.Tables, nil
	}
	err := h.ticket.Enqueue(ctx, sched.Compute, func() error {
		return h.on(sched.Compute, func(b *driver.Bound, st driver.Stream) (err error) {
			memory := h.tableAt(logSize)
			if memory.Bytes == 0 {
				memory.Bytes = launch.TableBytes(logSize)
				if set.memory == 0 {
					if set.memory, err = b.MemAlloc(memory.Bytes); err != nil {
						return err
					}
				}
				memory.Addr = uint64(set.memory)
			}
			tables, calls := launch.NewTables(logSize, memory)
			set.Tables = tables
			return h.kernels.enqueue(b, st, calls)
		})
	})
	set.filled = err == nil
	return set.Tables, err
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
	err = errors.Join(err, s.host.Leave(s.pins), s.lanes.close())
	if s.context.Closed() {
		// Not before: what a lost context does not unpin ends with it.
		s.host.RegisterRest()
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
