package engine

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/libcuzk/libcuzk/engine/backend"
	"github.com/libcuzk/libcuzk/engine/srs"
	"github.com/libcuzk/libcuzk/engine/timeline"
)

// Engine owns the devices and their workers. One a process is enough: two on
// one GPU would each plan with the whole of its memory.
type Engine struct {
	log       *slog.Logger
	known     atomic.Pointer[roster] // which devices there are
	asking    sync.Mutex             // held while providers that were not ready are asked
	asked     time.Time              // guarded by asking; the last time
	workers   atomic.Int64           // what SetWorkers, or else Config.Workers, says
	recording bool                   // New started the timeline; fixed by New
	closeIdle time.Duration          // Config.CloseIdle; fixed by New
	fallback  Fallback               // Config.Fallback; fixed by New
	toCPU     sync.Once              // it was said that the CPU proves because no GPU can

	mu     sync.Mutex
	sets   map[*srs.Params]*paramSet // guarded by mu; open parameter sets
	jobs   map[*Job]struct{}         // guarded by mu; jobs that have not ended
	host   map[uintptr]*hostBlock    // guarded by mu; from AllocHost, by address
	closed bool                      // guarded by mu
	ended  sync.WaitGroup            // one for every job in jobs and every begin
}

// DeviceInfo is a device as the engine sees it.
type DeviceInfo struct {
	backend.Info
	Workers int // running now; 0 until the device gets its first job
}

// New lists the devices of cfg.Providers. It opens none: a device gets its
// context, its memory and its workers with its first job.
func New(cfg Config) (*Engine, error) {
	if err := checkWorkers(cfg.Workers); err != nil {
		return nil, err
	}
	if !cfg.Fallback.valid() {
		return nil, fmt.Errorf("%w: fallback is %d, expected %d to %d", ErrOption, cfg.Fallback, FallbackGPU, FallbackNone)
	}
	e := &Engine{
		log: cfg.Log, closeIdle: cfg.CloseIdle, fallback: cfg.Fallback,
		sets: map[*srs.Params]*paramSet{},
		jobs: map[*Job]struct{}{},
		host: map[uintptr]*hostBlock{},
	}
	if e.log == nil {
		e.log = slog.New(slog.DiscardHandler)
	}
	e.known.Store(&roster{})
	e.workers.Store(int64(cfg.Workers))
	e.asked = time.Now()
	for rank, p := range cfg.Providers {
		infos, err := p.Devices()
		switch {
		case errors.Is(err, backend.ErrNotReady):
			e.log.Warn("no devices yet", "backend", p.Name(), "reason", err)
		case err != nil:
			e.log.Info("no devices", "backend", p.Name(), "reason", err)
		}
		e.known.Store(e.known.Load().with(e, p, rank, cfg.Workers, infos, err))
	}
	if r := e.known.Load(); len(r.preferred) == 0 {
		return nil, fmt.Errorf("%w: no usable device (%s)", errNoDevice, strings.Join(r.missing(), "; "))
	}
	if cfg.Timeline != "" {
		if err := timeline.StartLogged(cfg.Timeline, e.log); err != nil {
			return nil, fmt.Errorf("engine: %w", err)
		}
		e.recording = true
	}
	return e, nil
}

// GPUReason says why no GPU is used; empty if one is.
func (e *Engine) GPUReason() string {
	reasons := e.known.Load().missing()
	for _, d := range e.all() {
		info := d.infoNow()
		switch {
		case info.Backend == backend.CPU:
		case info.Unusable == "":
			return ""
		default:
			reasons = append(reasons, info.Name+": "+info.Unusable)
		}
	}
	if len(reasons) > 0 {
		return strings.Join(reasons, "; ")
	}
	return "built without a GPU back end"
}

// Devices lists every device found, usable or not, in the order that
// ProveOptions.Device counts.
func (e *Engine) Devices() []DeviceInfo {
	e.askAgain()
	devices := e.all()
	list := make([]DeviceInfo, len(devices))
	for i, d := range devices {
		list[i] = DeviceInfo{Info: d.infoNow(), Workers: d.pool.Live()}
	}
	return list
}

// SetWorkers sets the number of jobs that each device carries at the same
// time, at any time; 0 is the default. Running jobs are not disturbed: with
// fewer workers the surplus ones end after their job. Error: ErrOption, unless n
// is from 0 to MaxWorkers.
func (e *Engine) SetWorkers(n int) error {
	if err := checkWorkers(n); err != nil {
		return err
	}
	e.workers.Store(int64(n))
	for _, d := range e.all() {
		d.setWorkers(n)
	}
	return nil
}

// Close refuses new work, cancels the jobs that have not ended, waits for
// them, and frees all memory but that of AllocHost. Every SRS becomes invalid.
// Errors: ErrClosed when called again, those of closing devices, and
// timeline.ErrFile.
func (e *Engine) Close() error {
	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		return errClosed
	}
	e.closed = true
	running := make([]*Job, 0, len(e.jobs))
	for j := range e.jobs {
		running = append(running, j)
	}
	e.mu.Unlock()

	for _, j := range running {
		j.stop(errClosed)
	}
	e.ended.Wait()

	e.dropAllSets()
	var failed []error
	for _, d := range e.all() {
		if err := d.close(); err != nil {
			failed = append(failed, fmt.Errorf("engine: closing %s: %w", d.info.Name, err))
		}
	}
	if e.recording {
		// Stopped already, perhaps, by whoever else may.
		if err := timeline.Stop(); err != nil && !errors.Is(err, timeline.ErrNotRecording) {
			failed = append(failed, err)
		}
	}
	return errors.Join(failed...)
}

// begin keeps Close waiting until the caller calls e.ended.Done.
func (e *Engine) begin() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return errClosed
	}
	e.ended.Add(1)
	return nil
}
