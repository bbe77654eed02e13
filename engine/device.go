package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/libcuzk/libcuzk/engine/backend"
	"github.com/libcuzk/libcuzk/engine/sched"
	"github.com/libcuzk/libcuzk/engine/timeline"
)

// device is one device with its queue and its workers.
type device struct {
	engine   *Engine
	provider backend.Provider
	info     backend.Info
	queue    *sched.Queue[*partition]
	load     atomic.Int64 // partitions queued or running here
	counters counters
	rows     *timeline.Device
	waits    *timeline.Row // of the queue

	mu      sync.Mutex
	opened  backend.Device       // guarded by mu; nil until the first use
	target  int                  // guarded by mu; workers wanted
	started bool                 // guarded by mu; workers start with the first job
	closed  bool                 // guarded by mu
	stops   []context.CancelFunc // guarded by mu; one a worker that may go on
	running int                  // guarded by mu; workers not yet gone, surplus ones included
	numbers map[int]bool         // guarded by mu; of the running workers, from 1
	gone    sync.WaitGroup       // one for every running worker
}

func newDevice(e *Engine, p backend.Provider, info backend.Info, workers int) *device {
	d := &device{engine: e, provider: p, info: info, queue: sched.NewQueue[*partition](), numbers: map[int]bool{}}
	d.rows = timeline.DeviceOf(info.Backend, info.Ordinal, info.Name)
	d.waits = d.rows.Row(timeline.Queue, "queue")
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

// open makes the device ready at its first use. A failure is not remembered:
// the next job tries again.
func (d *device) open() (backend.Device, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, ErrClosed
	}
	if d.opened == nil {
		dev, err := d.provider.Open(d.info.Ordinal)
		if err != nil {
			return nil, fmt.Errorf("engine: opening %s %d (%s): %w", d.info.Backend, d.info.Ordinal, d.info.Name, err)
		}
		d.opened = dev
	}
	return d.opened, nil
}

// push queues p and makes sure that there is somebody to take it.
func (d *device) push(p *partition, prio Priority) (*sched.Entry[*partition], error) {
	d.mu.Lock()
	if !d.started && !d.closed {
		d.started = true
		d.adjustLocked()
	}
	d.mu.Unlock()
	d.load.Add(1)
	entry, err := d.queue.Push(p, prio)
	if err != nil {
		d.load.Add(-1)
		if errors.Is(err, sched.ErrQueueClosed) {
			err = ErrClosed
		}
		return nil, err
	}
	return entry, nil
}

func (d *device) runningWorkers() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.running
}

func (d *device) setWorkers(n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.target = d.workersFor(n)
	if d.started && !d.closed {
		d.adjustLocked()
	}
}

// adjustLocked starts workers up to the target, or tells the surplus to end
// after what they carry.
func (d *device) adjustLocked() {
	for len(d.stops) < d.target {
		ctx, stop := context.WithCancel(context.Background())
		d.stops = append(d.stops, stop)
		d.running++
		number := 1
		for d.numbers[number] {
			number++
		}
		d.numbers[number] = true
		d.gone.Go(func() { d.work(ctx, number) })
	}
	for len(d.stops) > d.target {
		last := len(d.stops) - 1
		d.stops[last]()
		d.stops = d.stops[:last]
	}
}

// close ends the workers and the device. Its jobs must have ended.
func (d *device) close() error {
	d.mu.Lock()
	d.closed = true
	d.target = 0
	d.adjustLocked()
	d.mu.Unlock()
	d.queue.Close()
	d.gone.Wait()
	if d.opened == nil {
		return nil
	}
	return d.opened.Close()
}
