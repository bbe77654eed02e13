//go:build linux

// Package poller makes the poller of the Go runtime while there are descriptors
// for it. The runtime makes it when the first timer is set or the first file is
// opened through package os; it takes two descriptors, and ends the process if
// it gets none.
//
// Packages are initialized in the order of their paths, behind what they import.
// This one comes before all that open files then (internal/detrand of protobuf
// reads the program's own file), as long as it imports none of fmt, os and what
// uses them.
package poller

import (
	"errors"
	"sync"
	"syscall"
	"time"
)

// ErrNone is returned by Need.
var ErrNone = errors.New("no descriptors left for the Go runtime")

var (
	mu   sync.Mutex
	made bool // guarded by mu
	// kept is the last descriptor, if one was left: who takes it while packages
	// are initialized has the poller made. Guarded by mu; -1: none.
	kept = -1
)

func init() {
	mu.Lock()
	defer mu.Unlock()
	_ = makeLocked() // Need tries again
}

// Need makes the poller if it is not made. The first call comes when packages
// have been initialized.
func Need() error {
	mu.Lock()
	defer mu.Unlock()
	if kept >= 0 {
		_ = syscall.Close(kept)
		kept = -1
	}
	if made {
		return nil
	}
	return makeLocked()
}

// makeLocked takes what the runtime is going to take, and gives it back in time.
func makeLocked() error {
	epoll, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	if err != nil {
		return errors.Join(ErrNone, err)
	}
	event, _, failed := syscall.RawSyscall(syscall.SYS_EVENTFD2, 0, syscall.O_CLOEXEC|syscall.O_NONBLOCK, 0)
	if failed != 0 {
		kept = epoll
		return errors.Join(ErrNone, failed)
	}
	_, _ = syscall.Close(int(event)), syscall.Close(epoll)
	time.Sleep(time.Nanosecond) // sets a timer
	made = true
	return nil
}
