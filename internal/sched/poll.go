package sched

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/libcuzk/libcuzk/internal/vram"
)

// The pause between two looks at the device grows with the time since the
// last event: 1/64 of it, so that a wait ends at most 1.6 % late, from
// minPause, which keeps the shortest jobs' latency, to maxPause.
const (
	minPause   = 20 * time.Microsecond
	maxPause   = 250 * time.Microsecond
	pauseShare = 64
)

// watchMode says whether a wait needs the device's events looked at.
type watchMode int

const (
	noWatch watchMode = iota
	watch
)

// await returns once cond is true, or its error, or ctx's. cond is called
// with the memory lock held, each time that something has changed.
func (s *Scheduler) await(ctx context.Context, what string, mode watchMode, cond func() (bool, error)) error {
	MayWait(what)
	for {
		changed, err := s.look(mode, cond)
		if changed == nil {
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
		if mode == watch {
			s.mem.Lock()
			s.watchers--
			s.mem.Unlock()
		}
		if err != nil {
			return err
		}
	}
}

// look evaluates a wait's condition once. It returns nil and the wait's result
// if the wait is over, else the channel that is closed at the next change.
func (s *Scheduler) look(mode watchMode, cond func() (bool, error)) (<-chan struct{}, error) {
	s.mem.Lock()
	defer s.mem.Unlock()
	if mode == watch {
		s.sweepLocked()
	}
	ok, err := cond()
	if ok || err != nil {
		return nil, err
	}
	if mode == watch {
		s.watchLocked()
	}
	return s.changed, nil
}

// unlessLost is a wait's answer for a condition that a lost device may never
// meet.
func (s *Scheduler) unlessLost(ok bool) (bool, error) {
	if ok {
		return true, nil
	}
	return false, s.lost
}

// drainedLocked reports whether every event has been seen done.
func (s *Scheduler) drainedLocked() bool {
	for _, p := range s.pending {
		if len(p) > 0 {
			return false
		}
	}
	return true
}

// broadcastLocked wakes every wait to look at its condition again.
func (s *Scheduler) broadcastLocked() {
	if s.audit != nil {
		s.audit()
	}
	close(s.changed)
	s.changed = make(chan struct{})
}

// watchLocked begins a wait that needs the device's events looked at.
func (s *Scheduler) watchLocked() {
	s.watchers++
	s.watchedFrom = time.Now()
	if !s.polling {
		s.polling = true
		s.background.Go(s.poll)
	}
}

// poll looks at the device's events for as long as anybody waits for one. It
// is the only goroutine that does so at intervals, however many jobs wait.
func (s *Scheduler) poll() {
	for {
		s.mem.Lock()
		s.sweepLocked()
		s.loseIfHungLocked()
		if s.watchers == 0 {
			s.polling = false
			s.mem.Unlock()
			return
		}
		idle := time.Since(s.watchedFrom)
		s.mem.Unlock()
		s.cfg.Pause(min(max(idle/pauseShare, minPause), maxPause))
	}
}

// pollAtOnce is how many events of a stream are asked for in one call: rarely
// more are pending.
const pollAtOnce = 8

// sweepLocked marks what has completed. It asks for all streams in one call,
// since a call goes to a thread of the device's and back.
func (s *Scheduler) sweepLocked() {
	if s.lost != nil {
		return
	}
	progress := false
	for again := true; again; {
		if !s.collectLocked() {
			break
		}
		done, err := s.dev.Poll(&s.asked)
		if err != nil {
			s.loseLocked(fmt.Errorf("poll events: %w", err))
			return
		}
		again = false
		for st, n := range done {
			s.passedLocked(Stream(st), n)
			progress = progress || n > 0
			again = again || n == pollAtOnce
		}
	}
	if progress {
		s.watchedFrom = time.Now()
		s.broadcastLocked()
	}
}

// collectLocked puts the oldest pending events into asked; false if there are
// none.
func (s *Scheduler) collectLocked() (any bool) {
	for st, pending := range s.pending {
		s.asked[st] = s.asked[st][:0]
		for _, m := range pending[:min(len(pending), pollAtOnce)] {
			s.asked[st] = append(s.asked[st], m.Event)
			any = true
		}
	}
	return any
}

// passedLocked marks the oldest n events of a stream.
func (s *Scheduler) passedLocked(st Stream, n int) {
	for _, m := range s.pending[st][:n] {
		m.Done = true
		s.dev.Destroy(m.Event)
	}
	s.pending[st] = s.pending[st][n:]
	if n > 0 {
		s.oldest[st] = time.Now()
	}
}

// markLocked is a mark after all that has been enqueued on st.
func (s *Scheduler) markLocked(st Stream) (*vram.Mark, error) {
	if s.lost != nil {
		return nil, s.lost
	}
	if m := s.tail[st]; m != nil {
		return m, nil
	}
	e, err := s.dev.Record(st)
	if err != nil {
		s.loseLocked(fmt.Errorf("record an event on the %v stream: %w", st, err))
		return nil, s.lost
	}
	s.recorded++
	m := &vram.Mark{Event: e, Seq: s.recorded, Stream: uint8(st)}
	if len(s.pending[st]) == 0 {
		s.oldest[st] = time.Now()
	}
	s.pending[st] = append(s.pending[st], m)
	s.tail[st] = m
	return m, nil
}

// orderLocked makes later work on st wait for m.
func (s *Scheduler) orderLocked(st Stream, m *vram.Mark) error {
	if s.lost != nil {
		return s.lost
	}
	if m.Done || Stream(m.Stream) == st {
		return nil
	}
	if err := s.dev.Wait(st, m.Event); err != nil {
		s.loseLocked(fmt.Errorf("make the %v stream wait for an event of the %v stream: %w", st, Stream(m.Stream), err))
		return s.lost
	}
	s.tail[st] = nil
	return nil
}

// noteLocked looks whether err says that the device is lost.
func (s *Scheduler) noteLocked(err error) {
	if errors.Is(err, ErrDeviceLost) {
		s.loseLocked(err)
	}
}

// loseLocked gives the device up: all jobs fail, nothing is claimed or
// recorded on it any more.
func (s *Scheduler) loseLocked(why error) {
	if s.lost != nil {
		return
	}
	if !errors.Is(why, ErrDeviceLost) {
		why = fmt.Errorf("%w: %w", ErrDeviceLost, why)
	}
	s.lost = why
	s.stats.losses++
	for t := range s.outstanding {
		t.cancel(why)
	}
	if len(s.loads) > 0 && s.loads[0].cancel != nil {
		s.loads[0].cancel(why)
	}
	s.broadcastLocked()
}
