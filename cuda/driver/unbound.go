package driver

import (
	"errors"
	"runtime"
)

// Unbound runs f on a thread of its own on which no context is current. Only
// the virtual memory calls work there: their memory and addresses are the
// process's, and may outlive a context that was lost.
func (dev *Device) Unbound(f func(*Bound) error) error {
	done := make(chan outcome, 1)
	go func() {
		// Never unlocked: whatever the thread is left with ends with it.
		runtime.LockOSThread()
		b := &Bound{d: dev.d, dev: dev}
		// A fresh thread has no context, but Go may have taken a used one.
		err := dev.d.fail(dev.d.fn.CtxSetCurrent(0), dev.Ordinal, "cuCtxSetCurrent", "no context")
		out := runCall(f, b)
		out.err = errors.Join(err, out.err)
		done <- out
	}()
	return (<-done).result()
}
