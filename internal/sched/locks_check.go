//go:build cuzk_lockcheck

package sched

import (
	"bytes"
	"fmt"
	"runtime"
	"sync"
)

// LockCheck reports whether the build checks the rules of the two locks.
const LockCheck = true

// lockHeld maps a goroutine's number to the name of the lock that it holds.
var lockHeld sync.Map

// lockBug is the value of the panics here; a job's recover lets it through.
type lockBug string

func locking(name string) {
	g := goroutine()
	if other, ok := lockHeld.Load(g); ok {
		panic(lockBug(fmt.Sprintf("BUG: sched: takes the %s while it holds the %v", name, other)))
	}
	lockHeld.Store(g, name)
}

func unlocked(name string) {
	if _, ok := lockHeld.LoadAndDelete(goroutine()); !ok {
		panic(lockBug(fmt.Sprintf("BUG: sched: another goroutine gives the %s back", name)))
	}
}

// MayWait says that the caller may now wait, for the device, for memory, for
// a turn or for a lock other than a leaf. Builds with the tag cuzk_lockcheck
// panic if the calling goroutine holds the memory lock or the compute lock.
func MayWait(what string) {
	if name, ok := lockHeld.Load(goroutine()); ok {
		panic(lockBug(fmt.Sprintf("BUG: sched: waits for %s while it holds the %v", what, name)))
	}
}

// keepPanicking reports whether a panic must not be turned into a job's error.
func keepPanicking(v any) bool {
	_, is := v.(lockBug)
	return is
}

// goroutine is the number in the first line of a stack trace, "goroutine 7 [".
// The runtime offers no other name for a goroutine.
func goroutine() string {
	var buf [64]byte
	line := buf[:runtime.Stack(buf[:], false)]
	fields := bytes.Fields(line)
	return string(fields[1])
}
