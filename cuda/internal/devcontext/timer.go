package devcontext

import (
	"sync"
	"time"

	"github.com/libcuzk/libcuzk/cuda/driver"
)

// Timer measures how long each kernel takes on the device, as the time
// between an event before it and the next one. Nil measures nothing.
type Timer struct {
	mu    sync.Mutex
	marks []kernelMark // guarded by mu
}

// kernelMark is an event before a kernel, or without a name after the last.
type kernelMark struct {
	name   string
	stream driver.Stream
	event  driver.Event
}

func (k *Timer) mark(b *driver.Bound, s driver.Stream, name string) error {
	if k == nil {
		return nil
	}
	e, err := b.NewTimer()
	if err != nil {
		return err
	}
	if err := b.Record(e, s); err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.marks = append(k.marks, kernelMark{name, s, e})
	return nil
}

// Time is what one kernel took in all its launches.
type Time struct {
	Launches int
	Total    time.Duration
}

// Read sums up what has been measured and forgets it. All that was enqueued
// must have run.
func (k *Timer) Read(b *driver.Bound) (map[string]Time, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	last := map[driver.Stream]kernelMark{}
	times := map[string]Time{}
	for _, m := range k.marks {
		if before, ok := last[m.stream]; ok && before.name != "" {
			took, err := b.Elapsed(before.event, m.event)
			if err != nil {
				return nil, err
			}
			t := times[before.name]
			times[before.name] = Time{t.Launches + 1, t.Total + took}
		}
		last[m.stream] = m
	}
	for _, m := range k.marks {
		if err := b.DestroyEvent(m.event); err != nil {
			return nil, err
		}
	}
	k.marks = nil
	return times, nil
}
