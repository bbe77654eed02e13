package sched

import (
	"time"

	"golang.org/x/sys/unix"
)

// pause sleeps on the OS thread. Go's own timers go through epoll, which
// rounds a sleep below 1 ms up to 1 ms when nothing else runs.
func pause(d time.Duration) {
	ts := unix.NsecToTimespec(d.Nanoseconds())
	// A signal may end it early, which does no harm.
	_ = unix.Nanosleep(&ts, nil)
}
