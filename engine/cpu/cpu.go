// Package cpu is the back end that computes on the processor. It is the
// default where there is no GPU, and the reference that other back ends are
// compared with.
//
// A job goes through three stages, each on all cores: the quotient (ntt), the
// classes of the witness (zero, one, other), and the five sums (msm). Inputs
// are read where they lie; c is never read.
//
// # Memory
//
// A job takes, beside the parameters' points that all jobs share, for a domain
// of m and V variables of which D are neither zero nor one, at most
//
//	quotient  (32 + 3·F)·m bytes, F = 32, or 40 with AVX-512 IFMA
//	sums      56·D + 12·(V-D) + V/4 bytes, and for each core 288 bytes, or
//	          384, for every bucket of its windows and point of its tile:
//	          28 MB for sums of 2^16, 200 MB for sums of 2^22, if one core has
//	          all windows
//
// one after the other; buffers of the first stage that do not fit the second
// stay idle, so both count. The tables of a domain take 32·m bytes, or 80·m,
// for all jobs together, and another 32·m while they are made. All that lies
// outside the Go heap, in size classes at most an eighth above what is needed,
// and is kept for the next job until the last parameter set is dropped: at most
// three times what was in use at one time, whatever the witnesses. The lists of
// operands of each core are in the Go heap: 10 to 18 MB were measured beside a
// job of 2^16.
package cpu

import (
	"context"
	"fmt"
	"runtime"
	"sync"

	"github.com/libcuzk/libcuzk/engine/backend"
	"github.com/libcuzk/libcuzk/engine/cpu/internal/ntt"
	"github.com/libcuzk/libcuzk/engine/groth16"
	"github.com/libcuzk/libcuzk/engine/srs"
	"github.com/libcuzk/libcuzk/internal/hostmem"
)

// Options say how the processor is used.
type Options struct {
	// Workers is the number of goroutines that one job keeps busy;
	// GOMAXPROCS if zero.
	Workers int
	// Portable turns off the code for particular processors.
	Portable bool
}

// Name is the name of this back end.
const Name = "cpu"

type provider struct{ options Options }

// New returns the provider of one device: the processor.
func New(options Options) backend.Provider {
	if options.Workers <= 0 {
		options.Workers = runtime.GOMAXPROCS(0)
	}
	return &provider{options}
}

func (p *provider) Name() string { return Name }

func (p *provider) Devices() ([]backend.Info, error) {
	return []backend.Info{info(p.options)}, nil
}

func (p *provider) Open(ordinal int) (backend.Device, error) {
	if ordinal != 0 {
		return nil, fmt.Errorf("cpu: device %d: there is only device 0", ordinal)
	}
	d := &Device{
		info:    info(p.options),
		workers: p.options.Workers,
		plans:   map[int]*planEntry{},
		loaded:  map[*srs.Params]struct{}{},
	}
	d.choose(p.options)
	return d, nil
}

// Device is the processor.
type Device struct {
	info    backend.Info
	workers int
	pool    hostmem.Pool

	g1      func(workers int) summerG1
	g2      func(workers int) summerG2
	newPlan func(*hostmem.Pool, int) (ntt.Plan, error)

	mu      sync.Mutex
	closed  bool                     // guarded by mu
	plans   map[int]*planEntry       // by domain size; guarded by mu
	loaded  map[*srs.Params]struct{} // guarded by mu
	running sync.WaitGroup           // partitions; Add is under mu, while not closed
}

// planEntry is a plan and who needs it.
type planEntry struct {
	once    sync.Once
	plan    ntt.Plan
	err     error
	running int                      // guarded by Device.mu
	sets    map[*srs.Params]struct{} // loaded sets that used it; guarded by Device.mu
}

// PeakBytes is the most memory, outside the Go heap and beside the parameters'
// points, that the device has held at one time.
func (d *Device) PeakBytes() int { return d.pool.PeakBytes() }

// Info implements backend.Device.
func (d *Device) Info() backend.Info { return d.info }

// Load implements backend.Device. The points are those of p: every job and
// every device reads the same copy.
func (d *Device) Load(ctx context.Context, p *srs.Params) error {
	if _, err := p.Points(ctx); err != nil {
		return fmt.Errorf("cpu: points: %w", err)
	}
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		return fmt.Errorf("cpu: %w", backend.ErrClosed)
	}
	_, again := d.loaded[p]
	d.loaded[p] = struct{}{}
	d.mu.Unlock()

	// The tables are made now, so that the first job does not wait for them.
	// One or two points for h leave the domain open.
	if h := p.Counts().H; h > 2 {
		_, done, err := d.plan(p, groth16.Domain(h))
		if err != nil {
			if !again {
				d.Drop(p) // nobody drops what was not loaded
			}
			return err
		}
		done()
	}
	return nil
}

// Drop implements backend.Device.
func (d *Device) Drop(p *srs.Params) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.loaded, p)
	for _, e := range d.plans {
		delete(e.sets, p)
	}
	d.tidyLocked()
}

// Close implements backend.Device.
func (d *Device) Close() error {
	d.mu.Lock()
	d.closed = true
	clear(d.loaded)
	d.mu.Unlock()
	d.running.Wait()

	d.mu.Lock()
	defer d.mu.Unlock()
	for _, e := range d.plans {
		clear(e.sets)
	}
	d.tidyLocked()
	d.pool.Close()
	return nil
}

// begin keeps the device open and p's points in memory until done is called.
func (d *Device) begin(p *srs.Params) (done func(), err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, fmt.Errorf("cpu: %w", backend.ErrClosed)
	}
	if err := p.Retain(); err != nil {
		return nil, fmt.Errorf("cpu: %w", err)
	}
	d.running.Add(1)
	return func() {
		defer d.running.Done()
		// Only closing the file can fail, after the last reference: the partition
		// has what it came for.
		_ = p.Release()
	}, nil
}

// plan returns the plan for a domain of m, made on first use, and keeps it
// until done is called and p is dropped.
func (d *Device) plan(p *srs.Params, m int) (plan ntt.Plan, done func(), err error) {
	d.mu.Lock()
	e := d.plans[m]
	if e == nil {
		e = &planEntry{sets: map[*srs.Params]struct{}{}}
		d.plans[m] = e
	}
	e.running++
	if _, ok := d.loaded[p]; ok {
		e.sets[p] = struct{}{}
	}
	d.mu.Unlock()

	done = func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		e.running--
		d.tidyLocked()
	}
	e.once.Do(func() { e.plan, e.err = d.newPlan(&d.pool, m) })
	if e.err != nil {
		done()
		return nil, nil, fmt.Errorf("cpu: tables of a domain of %d: %w", m, e.err)
	}
	return e.plan, done, nil
}

// tidyLocked closes plans that nobody needs, and gives idle memory back when
// no set is loaded.
func (d *Device) tidyLocked() {
	for m, e := range d.plans {
		// A plan that could not be made is forgotten too, to be tried again.
		if e.running > 0 || len(e.sets) > 0 && e.err == nil {
			continue
		}
		delete(d.plans, m)
		if e.plan != nil {
			e.plan.Close()
		}
	}
	if len(d.loaded) == 0 {
		d.pool.Trim()
	}
}
