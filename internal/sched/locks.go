package sched

import (
	"sync"
	"time"

	"github.com/libcuzk/libcuzk/engine/timeline"
)

// The two locks of a device. Rules, which the build tag cuzk_lockcheck
// enforces: neither is taken while the other, or itself, is held; nothing
// waits while it holds one. What may wait calls MayWait first.

// memLock guards the ledger, the fences and the marks. It is held for
// bookkeeping and for driver calls that never wait for the device.
type memLock struct{ timedLock }

func (l *memLock) Lock() {
	locking(memLockName)
	l.lock()
}

func (l *memLock) Unlock() {
	l.unlock()
	unlocked(memLockName)
}

// computeLock is held while work is enqueued on the compute stream, so that
// one job's sequence of launches is not mixed with a background load's.
type computeLock struct{ timedLock }

func (l *computeLock) Lock() {
	locking(computeLockName)
	l.lock()
}

func (l *computeLock) Unlock() {
	l.unlock()
	unlocked(computeLockName)
}

const (
	memLockName     = "memory lock"
	computeLockName = "compute lock"
)

// timedLock shows on the timeline how long it is held.
type timedLock struct {
	mu    sync.Mutex
	since time.Time       // guarded by mu; zero if nothing is recorded
	track *timeline.Track // fixed; nil: not shown
}

func (l *timedLock) lock() {
	l.mu.Lock()
	l.since = timeline.Now()
}

func (l *timedLock) unlock() {
	since := l.since
	l.mu.Unlock()
	if !since.IsZero() {
		l.track.Hold(since, time.Now())
	}
}
