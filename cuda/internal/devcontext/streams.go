package devcontext

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/libcuzk/libcuzk/cuda/driver"
	"github.com/libcuzk/libcuzk/cuda/internal/plan"
	"github.com/libcuzk/libcuzk/internal/sched"
	"github.com/libcuzk/libcuzk/internal/vram"
)

// Streams are the streams of one context, each with an OS thread that enqueues
// on it, and the memory under them: the sched.Device of a device.
type Streams struct {
	Driver  *driver.Context
	streams [sched.Streams]driver.Stream
	threads [sched.Streams]*driver.Thread
	Sides   [len(plan.Branches)]driver.Stream // beside the compute stream, enqueued on by its thread
	Watch   *driver.Thread                    // polls events, so that no poll waits behind launches
	base    driver.DevicePtr
	bytes   uint64 // of addresses reserved from base on

	mu     sync.Mutex
	idle   []driver.Event     // guarded by mu; recorded by nobody now
	mapped map[uint64]mapping // guarded by mu; by offset from base
}

// mapping is physical memory behind some of the addresses.
type mapping struct {
	memory   driver.Allocation
	bytes    uint64
	unmapped bool // only the memory is left
}

var _ sched.Device = (*Streams)(nil)

// newStreams makes a context with its streams and reserves addresses for all the
// memory there is on the device. No memory is behind them yet.
func newStreams(dev *driver.Device) (*Streams, error) {
	ctx, err := dev.NewContext()
	if err != nil {
		return nil, err
	}
	l := &Streams{
		Driver: ctx, Watch: ctx.Main(), mapped: map[uint64]mapping{},
		bytes: (dev.Bytes + vram.Granule - 1) / vram.Granule * vram.Granule,
	}
	if err := l.start(); err != nil {
		return nil, errors.Join(err, l.close())
	}
	return l, nil
}

func (l *Streams) start() error {
	for s := range l.streams {
		t, err := l.Driver.NewThread()
		if err != nil {
			return err
		}
		l.threads[s] = t
		err = t.Do(func(b *driver.Bound) (err error) {
			l.streams[s], err = b.NewStream()
			return err
		})
		if err != nil {
			return err
		}
	}
	err := l.threads[sched.Compute].Do(func(b *driver.Bound) (err error) {
		for i := range l.Sides {
			if l.Sides[i], err = b.NewStream(); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return l.Watch.Do(func(b *driver.Bound) (err error) {
		l.base, err = b.AddressReserve(l.bytes, 0)
		return err
	})
}

// On runs f on the thread of a stream.
func (l *Streams) On(s sched.Stream, f func(b *driver.Bound, stream driver.Stream) error) error {
	return MarkLost(l.threads[s].Do(func(b *driver.Bound) error { return f(b, l.streams[s]) }))
}

// MarkLost marks errors after which nothing on the device is trusted.
func MarkLost(err error) error {
	if driver.Lost(err) && !errors.Is(err, sched.ErrDeviceLost) {
		return fmt.Errorf("%w: %w", sched.ErrDeviceLost, err)
	}
	return err
}

// Record implements sched.Device.
func (l *Streams) Record(s sched.Stream) (sched.Event, error) {
	var e driver.Event
	err := l.On(s, func(b *driver.Bound, stream driver.Stream) (err error) {
		if e, err = l.Event(b); err != nil {
			return err
		}
		return b.Record(e, stream)
	})
	return sched.Event(e), err
}

// Event is an idle event, or a new one.
func (l *Streams) Event(b *driver.Bound) (driver.Event, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := len(l.idle); n > 0 {
		e := l.idle[n-1]
		l.idle = l.idle[:n-1]
		return e, nil
	}
	return b.NewEvent()
}

// Poll implements sched.Device.
func (l *Streams) Poll(pending *[sched.Streams][]sched.Event) (done [sched.Streams]int, err error) {
	err = l.Watch.Do(func(b *driver.Bound) error {
		for st, events := range pending {
			for _, e := range events {
				passed, err := b.Done(driver.Event(e))
				if err != nil {
					return fmt.Errorf("%v stream: %w", sched.Stream(st), err)
				}
				if !passed {
					break
				}
				done[st]++
			}
		}
		return nil
	})
	return done, MarkLost(err)
}

// Wait implements sched.Device.
func (l *Streams) Wait(s sched.Stream, e sched.Event) error {
	return l.On(s, func(b *driver.Bound, stream driver.Stream) error {
		return b.Wait(stream, driver.Event(e))
	})
}

// Destroy implements sched.Device. The event object is used again.
func (l *Streams) Destroy(e sched.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.idle = append(l.idle, driver.Event(e))
}

// At is the address of an offset of the ledger.
func (l *Streams) At(offset uint64) driver.DevicePtr { return l.base + driver.DevicePtr(offset) }

// Map implements sched.Device.
func (l *Streams) Map(offset, bytes uint64) error {
	var h driver.Allocation
	err := l.Watch.Do(func(b *driver.Bound) (err error) {
		if h, err = b.Create(bytes); err != nil {
			return err
		}
		if err = b.Map(l.At(offset), bytes, h); err != nil {
			err = errors.Join(err, b.Release(h))
		}
		return err
	})
	if driver.Of(err, driver.CauseDeviceMemory) {
		return fmt.Errorf("%w: %w%s", sched.ErrNoMemory, err, l.FreeText())
	}
	if err != nil {
		return MarkLost(err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mapped[offset] = mapping{memory: h, bytes: bytes}
	return nil
}

// FreeText says how much of the device is free, for an error.
func (l *Streams) FreeText() (text string) {
	_ = l.Watch.Do(func(b *driver.Bound) error {
		free, total, err := b.MemInfo()
		if err == nil {
			text = fmt.Sprintf("; %d of the GPU's %d bytes are free", free, total)
		}
		return err
	})
	return text
}

// Unmap implements sched.Device.
func (l *Streams) Unmap(offset, bytes uint64) error {
	l.mu.Lock()
	m, ok := l.mapped[offset]
	l.mu.Unlock()
	if !ok {
		return fmt.Errorf("cuda: unmapping %d bytes at offset %d of the arena of %s: nothing was mapped there", bytes, offset, l.Driver.Device().String())
	}
	return MarkLost(l.Watch.Do(func(b *driver.Bound) error { return l.unmap(b, offset, m) }))
}

// close waits for everything enqueued and destroys the context. Every mapping
// should have been taken back. It goes on after errors, and may be called again
// if the driver refuses to destroy the context.
func (l *Streams) close() error {
	err := l.Watch.Do(func(b *driver.Bound) error {
		failed := b.SynchronizeDeviceWide()
		drained := failed == nil
		l.mu.Lock() // of a lost context a job that has ended may still give events back
		l.idle = slices.DeleteFunc(l.idle, func(e driver.Event) bool {
			err := b.DestroyEvent(e)
			failed = errors.Join(failed, err)
			return err == nil
		})
		l.mu.Unlock()
		for _, list := range [][]driver.Stream{l.streams[:], l.Sides[:]} {
			for i, s := range list {
				if s == 0 {
					continue
				}
				if err := b.DestroyStream(s); err != nil {
					failed = errors.Join(failed, err)
				} else {
					list[i] = 0
				}
			}
		}
		// What was enqueued on a lost context ends only with it.
		if drained || len(l.mapped) == 0 {
			failed = errors.Join(failed, l.UnmapRest(b))
		}
		return failed
	})
	if errors.Is(err, driver.ErrClosed) {
		return nil
	}
	return errors.Join(err, l.Driver.Close())
}

// UnmapRest takes back mappings, physical memory and addresses. They belong to
// the process, not to a context: b may be of another one or of none, when this
// one is lost and has refused. What the driver refuses stays for another call.
func (l *Streams) UnmapRest(b *driver.Bound) error {
	l.mu.Lock()
	mapped := maps.Clone(l.mapped)
	l.mu.Unlock()
	var failed error
	for offset, m := range mapped {
		err := l.unmap(b, offset, m)
		failed = errors.Join(failed, err)
		if driver.Sticky(err) {
			return failed // as all others would be
		}
	}
	if failed != nil || l.base == 0 {
		return failed
	}
	if err := b.AddressFree(l.base, l.bytes); err != nil {
		return err
	}
	l.base = 0
	return nil
}

// unmap gives one mapping's memory back. Not under l.mu, which launches
// take: it lasts 0.3 ms a GiB.
func (l *Streams) unmap(b *driver.Bound, offset uint64, m mapping) error {
	if !m.unmapped {
		if err := b.Unmap(l.At(offset), m.bytes); err != nil {
			return err
		}
	}
	err := b.Release(m.memory)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		m.unmapped = true
		l.mapped[offset] = m
		return err
	}
	delete(l.mapped, offset)
	return nil
}

// HoldsMemory reports whether UnmapRest has anything to give back.
func (l *Streams) HoldsMemory() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.base != 0 || len(l.mapped) > 0
}

// MappedBytes is how much of the device the mappings hold.
func (l *Streams) MappedBytes() (n uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, m := range l.mapped {
		n += m.bytes
	}
	return n
}
