package sched

import "sync"

// The two locks of a device. Rules, which the build tag cuzk_lockcheck
// enforces: neither is taken while the other, or itself, is held; nothing
// waits while it holds one. What may wait calls MayWait first.

// memLock guards the ledger, the fences and the marks. It is held for
// bookkeeping and for driver calls that never wait for the device.
type memLock struct{ mu sync.Mutex }

func (l *memLock) Lock() {
	locking("memory lock")
	l.mu.Lock()
}

func (l *memLock) Unlock() {
	l.mu.Unlock()
	unlocked("memory lock")
}

// computeLock is held while work is enqueued on the compute stream, so that
// one job's sequence of launches is not mixed with a background load's.
type computeLock struct{ mu sync.Mutex }

func (l *computeLock) Lock() {
	locking("compute lock")
	l.mu.Lock()
}

func (l *computeLock) Unlock() {
	l.mu.Unlock()
	unlocked("compute lock")
}
