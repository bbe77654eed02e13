package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/libcuzk/libcuzk/engine/backend"
	"github.com/libcuzk/libcuzk/engine/timeline"
	"github.com/libcuzk/libcuzk/internal/sched"
)

// device is one device with its queue and its workers.
type device struct {
	engine   *Engine
	provider backend.Provider
	info     backend.Info
	queue    *sched.Queue[*partition]
	backlog  atomic.Int64 // partitions queued or running here
	counters counters
	tracks   *timeline.Device
	waits    *timeline.Track // of the queue

	pool *sched.Pool[*partition]

	avoidance atomic.Pointer[avoidance]             // nil: the device is well
	gone      atomic.Pointer[backend.GoneError]     // nil: the device has not been lost for good
	refused   atomic.Pointer[backend.UnusableError] // nil: the device has not turned out to be unusable

	opening sync.Mutex                     // held while the provider opens the device
	opened  atomic.Pointer[backend.Device] // set under opening; nil until the first use, and when closed for idleness
	inUse   sync.RWMutex                   // read-locked while opened is used

	mu      sync.Mutex
	target  int         // guarded by mu; workers wanted
	started bool        // guarded by mu; workers start with the first job
	closed  bool        // guarded by mu
	idle    *time.Timer // guarded by mu; nil until the device was used
}

func newDevice(e *Engine, p backend.Provider, info backend.Info, workers int) *device {
	d := &device{engine: e, provider: p, info: info, queue: sched.NewQueue[*partition]()}
	d.tracks = timeline.DeviceOf(info.Backend, info.Ordinal, info.Name)
	d.waits = d.tracks.Track(timeline.Queue, "queue")
	d.pool = sched.NewPool(d.queue, d.carry)
	d.target = d.workersFor(workers)
	return d
}

func (d *device) workersFor(n int) int {
	switch {
	case n > 0:
		return n
	case d.info.Backend == backend.CPU:
		return defaultWorkersCPU
	default:
		return defaultWorkersGPU
	}
}

// infoNow is the device's info with the reason why it is not used any more, or
// avoided.
func (d *device) infoNow() backend.Info {
	info := d.info
	if why := d.why(); why != nil {
		info.Unusable = why.Error()
	} else if text := d.avoidedText(); text != "" {
		info.Detail = strings.TrimPrefix(info.Detail+"; "+text, "; ")
	}
	return info
}

// use opens the device if it is not open, and keeps it open until done is
// called.
func (d *device) use(ctx context.Context) (dev backend.Device, done func(), err error) {
	d.inUse.RLock()
	dev, err = d.open(ctx)
	if err != nil {
		d.inUse.RUnlock()
		return nil, nil, err
	}
	return dev, func() {
		d.inUse.RUnlock()
		d.restartIdle()
	}, nil
}

// open makes the device ready at its first use. One that is busy with other
// processes is tried again, until ctx ends, for as long as its provider says.
func (d *device) open(ctx context.Context) (backend.Device, error) {
	begin := time.Now()
	for {
		dev, err := d.openOnce()
		var busy *backend.BusyError
		if !errors.As(err, &busy) || busy.Wait == 0 {
			return dev, err
		}
		if waited := time.Since(begin); ctx.Err() != nil || waited >= busy.Wait {
			return nil, fmt.Errorf("waited %v for other processes: %w", waited.Round(time.Millisecond), err)
		}
	}
}

// openOnce opens the device unless it is open. The next job tries again after a
// failure, unless the device is gone.
func (d *device) openOnce() (backend.Device, error) {
	d.opening.Lock()
	defer d.opening.Unlock()
	if d.isClosed() {
		return nil, errClosed
	}
	if why := d.why(); why != nil {
		return nil, why
	}
	opened := d.opened.Load()
	if opened == nil {
		dev, err := d.provider.Open(d.info.Ordinal)
		if err != nil {
			return nil, &openError{fmt.Errorf("engine: opening %s %d (%s): %w", d.info.Backend, d.info.Ordinal, d.info.Name, err)}
		}
		opened = &dev
		d.opened.Store(opened)
	}
	return *opened, nil
}

func (d *device) isClosed() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.closed
}

// push queues p and makes sure that there is somebody to take it.
func (d *device) push(p *partition, prio Priority) (*sched.Entry[*partition], error) {
	d.mu.Lock()
	if !d.started && !d.closed {
		d.started = true
		d.pool.SetWorkers(d.target)
	}
	d.mu.Unlock()
	entry, err := d.queue.Push(p, prio)
	if err != nil {
		return nil, err
	}
	return entry, nil
}

func (d *device) setWorkers(n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.target = d.workersFor(n)
	if d.started && !d.closed {
		d.pool.SetWorkers(d.target)
	}
}

// close ends the workers and the device. Its jobs must have ended.
func (d *device) close() error {
	d.mu.Lock()
	d.closed = true
	if d.idle != nil {
		d.idle.Stop()
	}
	d.mu.Unlock()
	d.queue.Close()
	d.pool.Close()
	d.opening.Lock()
	defer d.opening.Unlock()
	opened := d.opened.Load()
	if opened == nil {
		return nil
	}
	return (*opened).Close()
}
