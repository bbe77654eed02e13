package engine

import (
	"errors"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/libcuzk/libcuzk/engine/backend"
	"github.com/libcuzk/libcuzk/engine/groth16"
)

// Metrics are the numbers of an engine, counted since it was made. Package
// metrics writes them for Prometheus.
type Metrics struct {
	ParameterSets int // open
	Devices       []DeviceMetrics
}

// DeviceMetrics are the numbers of one device.
type DeviceMetrics struct {
	backend.Info
	backend.Stats // zero for a device that has not been opened or does not count

	Workers  int    // running now
	Waiting  int    // partitions in the queue
	Carried  int    // partitions in the hands of workers
	Moved    uint64 // partitions given to another device when this one was lost
	Outcomes map[Outcome]uint64
	Stages   map[string]StageMetrics // by the names of backend.Stages
}

// StageMetrics sum up how often a stage was gone through and how long it took.
type StageMetrics struct {
	Count   uint64
	Seconds float64
}

// Outcome is how a partition ended.
type Outcome string

// The outcomes of partitions.
const (
	OutcomeDone        Outcome = "done"
	OutcomeCancelled   Outcome = "cancelled"   // by the caller, or with its job when another partition failed
	OutcomeUnsatisfied Outcome = "unsatisfied" // refused by the self-check
	OutcomeInvalid     Outcome = "invalid"     // a scalar of its assignment was out of range
	OutcomeLost        Outcome = "device_lost" // the device was reset under it
	OutcomeFailed      Outcome = "failed"      // anything else
)

// Outcomes lists all of them.
func Outcomes() []Outcome {
	return []Outcome{OutcomeDone, OutcomeCancelled, OutcomeUnsatisfied, OutcomeInvalid, OutcomeLost, OutcomeFailed}
}

func outcomeOf(err error) Outcome {
	switch {
	case err == nil:
		return OutcomeDone
	case errors.Is(err, ErrUnsatisfied):
		return OutcomeUnsatisfied
	case errors.Is(err, groth16.ErrScalarRange):
		return OutcomeInvalid
	case errors.Is(err, ErrDeviceLost):
		return OutcomeLost
	case errors.Is(err, ErrCancelled), errors.Is(err, ErrClosed):
		return OutcomeCancelled
	default:
		return OutcomeFailed
	}
}

// counters count one device's partitions. The zero value is ready.
type counters struct {
	moved atomic.Uint64

	mu       sync.Mutex
	outcomes map[Outcome]uint64      // guarded by mu
	stages   map[string]StageMetrics // guarded by mu
}

func (c *counters) ended(o Outcome) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.outcomes == nil {
		c.outcomes = map[Outcome]uint64{}
	}
	c.outcomes[o]++
}

func (c *counters) stage(name string, seconds float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stages == nil {
		c.stages = map[string]StageMetrics{}
	}
	s := c.stages[name]
	c.stages[name] = StageMetrics{s.Count + 1, s.Seconds + seconds}
}

// Metrics returns the numbers of now.
func (e *Engine) Metrics() Metrics {
	e.mu.Lock()
	m := Metrics{ParameterSets: len(e.sets)}
	e.mu.Unlock()
	for _, d := range e.all() {
		m.Devices = append(m.Devices, d.metrics())
	}
	return m
}

func (d *device) metrics() DeviceMetrics {
	// Read before the load, so that what moves on meanwhile is not counted as
	// carried twice.
	waiting := d.queue.Len()
	m := DeviceMetrics{Info: d.infoNow(), Waiting: waiting, Carried: max(int(d.backlog.Load())-waiting, 0)}
	m.Workers, m.Moved = d.pool.Live(), d.counters.moved.Load()
	if opened := d.opened.Load(); opened != nil && !d.isClosed() {
		if reporter, reports := (*opened).(backend.Reporter); reports {
			m.Stats = reporter.Stats()
		}
	}
	d.counters.mu.Lock()
	defer d.counters.mu.Unlock()
	m.Outcomes = maps.Clone(d.counters.outcomes)
	m.Stages = maps.Clone(d.counters.stages)
	return m
}

// stageEnded notes a stage of p that has just ended.
func (p *partition) stageEnded(name string, seconds float64) {
	p.stages.add(name, seconds)
	p.device.counters.stage(name, seconds)
	end := time.Now()
	p.timeline.Span(name, end.Add(-time.Duration(seconds*float64(time.Second))), end)
}
