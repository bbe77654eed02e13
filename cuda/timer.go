package cuda

import (
	"sync"
	"time"

	"github.com/libcuzk/libcuzk/cuda/driver"
)

// kernelTimer measures how long each kernel takes on the card, as the time
// between an event before it and the next one. Nil measures nothing.
type kernelTimer struct {
	mu    sync.Mutex
	marks []kernelMark // guarded by mu
}

// kernelMark is an event before a kernel, or without a name after the last.
type kernelMark struct {
	name   string
	stream driver.Stream
	event  driver.Event
}

func (k *kernelTimer) mark(b *driver.Bound, s driver.Stream, name string) error {
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

// kernelTime is what one kernel took in all its launches.
type kernelTime struct {
	launches int
	total    time.Duration
}

// read sums up what has been measured and forgets it. All that was enqueued
// must have run.
func (k *kernelTimer) read(b *driver.Bound) (map[string]kernelTime, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	last := map[driver.Stream]kernelMark{}
	times := map[string]kernelTime{}
	for _, m := range k.marks {
		if before, ok := last[m.stream]; ok && before.name != "" {
			took, err := b.Elapsed(before.event, m.event)
			if err != nil {
				return nil, err
			}
			t := times[before.name]
			times[before.name] = kernelTime{t.launches + 1, t.total + took}
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
