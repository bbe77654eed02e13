package sched

import (
	"errors"

	"github.com/libcuzk/libcuzk/internal/vram"
)

// counters count since the Scheduler was made.
type counters struct {
	done, failed, losses uint64
}

func (c *counters) ended(err error) {
	if errors.Is(err, errAway) {
		return // the partition draws another ticket
	}
	if err != nil {
		c.failed++
		return
	}
	c.done++
}

// Stats is a snapshot for metrics.
type Stats struct {
	vram.Usage
	Outstanding int    // tickets
	Done        uint64 // jobs that ended well
	Failed      uint64 // jobs that failed or were cancelled
	Losses      uint64 // times the device was lost
}

// Stats returns the numbers of now.
func (s *Scheduler) Stats() Stats {
	s.mem.Lock()
	defer s.mem.Unlock()
	return Stats{
		Usage:       s.ledger.Usage(),
		Outstanding: len(s.outstanding),
		Done:        s.stats.done,
		Failed:      s.stats.failed,
		Losses:      s.stats.losses,
	}
}
