//go:build !cuzk_lockcheck

package sched

// LockCheck reports whether the build checks the rules of the two locks.
const LockCheck = false

func locking(string)  {}
func unlocked(string) {}

// MayWait says that the caller may now wait, for the device, for memory, for
// a turn or for a lock other than a leaf. Builds with the tag cuzk_lockcheck
// panic if the calling goroutine holds the memory lock or the compute lock.
func MayWait(string) {}

// keepPanicking reports whether a panic must not be turned into a job's error.
func keepPanicking(any) bool { return false }
