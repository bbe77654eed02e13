package sched

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/libcuzk/libcuzk/internal/vram"
)

// retryMemory is how long a job waits before it asks again for memory that
// another process holds.
const retryMemory = 10 * time.Millisecond

// claim gives t all its blocks and pins its set, in one step, in the claim
// turn. It waits for earlier tickets only: to enter their compute turn, or to
// hand on; for a load that it has called off; and for other processes, as long
// as is configured.
func (s *Scheduler) claim(t *Ticket) error {
	return s.besideNeighbours(t.ctx, func() error { return s.claimOnce(t) })
}

// besideNeighbours calls do, which finds out whether there is memory: first when
// no other process asks for it, then again and again for as long as is
// configured, while others are asked.
func (s *Scheduler) besideNeighbours(ctx context.Context, do func() error) error {
	if s.cfg.MemoryWait == 0 {
		return do()
	}
	if err := s.giveWay(ctx); err != nil {
		return err
	}
	err := do()
	if !errors.Is(err, ErrNoMemory) {
		return err
	}
	begin := time.Now()
	ctx, stop := context.WithDeadlineCause(ctx, begin.Add(s.cfg.MemoryWait), errWaited)
	defer stop()
	release, askErr := s.ask(ctx)
	defer release()
	for askErr == nil {
		if err = do(); !errors.Is(err, ErrNoMemory) {
			return err
		}
		// What is idle may be what another process waits for.
		if err := s.Trim(); err != nil {
			return err
		}
		askErr = sleep(ctx, retryMemory)
	}
	if errors.Is(askErr, errWaited) {
		return fmt.Errorf("waited %v for other processes: %w", time.Since(begin).Round(time.Millisecond), err)
	}
	return askErr
}

// claimOnce is claim without waiting for other processes.
func (s *Scheduler) claimOnce(t *Ticket) error {
	err := s.await(t.ctx, "memory", noWatch, func() (bool, error) {
		s.sweepLocked() // what is idle is preferred to what is fenced
		if s.lost != nil {
			return false, s.lost
		}
		c, ok := s.ledger.Claim(t.need)
		switch {
		case ok:
			t.takeLocked(c)
			return true, nil
		case t.need.Set != nil && t.need.Streaming == nil && !t.need.Set.Loaded():
			return false, errAway
		}
		s.callOffLocked(t)
		return false, nil
	})
	if err != nil {
		return err
	}
	return s.mapClaim(t)
}

// mapClaim puts physical memory under t's blocks and its set. If there is not
// enough, the claim is given back and the error says ErrNoMemory.
func (s *Scheduler) mapClaim(t *Ticket) error {
	s.mem.Lock()
	defer s.mem.Unlock()
	err := s.mapLocked(t.rangesLocked())
	if err != nil {
		t.unclaimLocked()
		s.broadcastLocked()
		return err
	}
	s.claimedLocked(t)
	t.drawing.notWaitingLocked()
	s.keepLocked(t)
	s.broadcastLocked()
	return nil
}

// mapLocked puts physical memory under blocks. When the device has none left,
// chunks that lie idle elsewhere are given back to it first.
func (s *Scheduler) mapLocked(blocks []vram.Block) error {
	if s.lost != nil {
		return s.lost
	}
	for _, b := range blocks {
		for _, c := range s.ledger.Unmapped(b) {
			err := s.dev.Map(c.Offset, c.Bytes)
			if errors.Is(err, ErrNoMemory) {
				if trimErr := s.trimLocked(s.ledger.IdleChunks()); trimErr != nil {
					return trimErr
				}
				err = s.dev.Map(c.Offset, c.Bytes)
			}
			if err != nil {
				s.noteLocked(err)
				u := s.ledger.Usage()
				return fmt.Errorf("sched: map %d bytes at %d, with %d bytes of a budget of %d mapped: %w",
					c.Bytes, c.Offset, u.Mapped, u.Budget, err)
			}
			s.ledger.SetMapped(c, true)
		}
	}
	return nil
}

// Trim gives back all physical memory that nobody holds and whose fences have
// passed. Jobs go on meanwhile.
func (s *Scheduler) Trim() error {
	return s.trim(func(vram.Block) bool { return true })
}

// trim gives back idle chunks that also satisfy which, one at a time so that
// the memory lock is never held for long.
func (s *Scheduler) trim(which func(vram.Block) bool) error {
	tried := map[vram.Block]bool{}
	for {
		s.mem.Lock()
		s.sweepLocked()
		var one []vram.Block
		for _, c := range s.ledger.IdleChunks() {
			if !tried[c] && which(c) {
				tried[c] = true
				one = append(one, c)
				break
			}
		}
		err := s.lost
		if err == nil {
			err = s.trimLocked(one)
		}
		s.mem.Unlock()
		if err != nil || len(one) == 0 {
			return err
		}
	}
}

func (s *Scheduler) trimLocked(idle []vram.Block) error {
	for _, c := range idle {
		if err := s.dev.Unmap(c.Offset, c.Bytes); err != nil {
			s.noteLocked(err)
			return fmt.Errorf("sched: unmap %d bytes at %d: %w", c.Bytes, c.Offset, err)
		}
		s.ledger.SetMapped(c, false)
	}
	return nil
}

// trimWhenIdle gives back chunks that are idle at two looks in a row, and
// parameter sets if no job came or ran between them.
func (s *Scheduler) trimWhenIdle() {
	tick := time.NewTicker(s.cfg.IdleAfter)
	defer tick.Stop()
	before := map[vram.Block]uint64{}
	var begun uint64 // tickets and loads at the last look
	for {
		select {
		case <-s.stopTrim:
			return
		case <-tick.C:
		}
		begun = s.evictIfIdle(begun)
		// An error has been noted where it matters; the next job meets it.
		_ = s.trim(func(c vram.Block) bool { n, was := before[c]; return was && n == s.ledger.Claims(c) })
		s.mem.Lock()
		clear(before)
		for _, c := range s.ledger.IdleChunks() {
			before[c] = s.ledger.Claims(c)
		}
		s.mem.Unlock()
	}
}

// sleep waits for d or for ctx's end.
func sleep(ctx context.Context, d time.Duration) error {
	MayWait("a timer")
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
