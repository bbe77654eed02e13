package sched

import (
	"fmt"
	"time"

	"github.com/libcuzk/libcuzk/internal/sentinel"
)

// ErrHung means that work on the device does not end. The device is lost, and
// cannot be reset either: what destroys its context waits for that work.
var ErrHung = sentinel.New(sentinel.ErrDeviceLost, "sched: device hangs")

// loseIfHungLocked gives the device up if the oldest event of a stream has been
// the oldest for longer than Config.HangAfter. Whoever waits for an event has it
// called now and then.
func (s *Scheduler) loseIfHungLocked() {
	if s.cfg.HangAfter == 0 || s.lost != nil {
		return
	}
	for st, pending := range s.pending {
		if since := time.Since(s.oldest[st]); len(pending) > 0 && since > s.cfg.HangAfter {
			s.loseLocked(fmt.Errorf("%w: work on the %v stream has not ended for %v", ErrHung, Stream(st), since.Round(time.Second)))
			return
		}
	}
}
