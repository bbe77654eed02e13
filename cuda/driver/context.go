package driver

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"unsafe"
)

// ErrClosed is returned by Do on a thread whose context has been closed.
var ErrClosed = errors.New("cuda: context is closed")

// Context is a context of our own on one card, never the primary one, which
// other libraries of the process share. It costs about 0.5 GiB of device memory.
type Context struct {
	d       *Driver
	dev     *Device
	handle  contextHandle
	mu      sync.Mutex
	main    *Thread   // made the context and ends it
	threads []*Thread // all others; guarded by mu
	closed  bool      // guarded by mu
}

// Thread is an OS thread of ours on which its context is current.
type Thread struct {
	calls chan call
	stop  chan struct{} // closed: take no more calls
	ended chan struct{} // closed: the OS thread is gone
}

type call struct {
	f    func(*Bound) error
	done chan outcome
}

type outcome struct {
	err   error
	panic any
	stack []byte
}

// Bound is a thread with its context current: what Thread.Do hands to its
// function, which must neither keep it nor give it to another goroutine.
type Bound struct {
	d       *Driver
	dev     *Device
	scratch *launchScratch
	owner   uint64 // see For
}

// NewContext makes a context and its first thread.
func (dev *Device) NewContext() (*Context, error) {
	if err := dev.Refusal(); err != nil {
		return nil, err
	}
	c := &Context{d: dev.d, dev: dev}
	main, err := c.startThread(func() error {
		code := c.d.fn.CtxCreate(&c.handle, contextScheduleYield|contextMapHost|contextKeepLocal, dev.handle)
		return c.d.fail(code, dev.Ordinal, "cuCtxCreate", "")
	})
	if err != nil {
		return nil, err
	}
	c.main = main
	return c, nil
}

// Device is the card the context is on.
func (c *Context) Device() *Device { return c.dev }

// Main is the thread that made the context.
func (c *Context) Main() *Thread { return c.main }

// NewThread starts another thread of the context.
func (c *Context) NewThread() (*Thread, error) {
	c.mu.Lock()
	closed := c.closed
	c.mu.Unlock()
	if closed {
		return nil, ErrClosed
	}
	t, err := c.startThread(nil)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	closed = c.closed
	if !closed {
		c.threads = append(c.threads, t)
	}
	c.mu.Unlock()
	if closed {
		t.end()
		return nil, ErrClosed
	}
	return t, nil
}

// startThread starts a thread, runs create on it, and makes the context current.
func (c *Context) startThread(create func() error) (*Thread, error) {
	t := &Thread{calls: make(chan call), stop: make(chan struct{}), ended: make(chan struct{})}
	started := make(chan error)
	go t.run(c, create, started)
	if err := <-started; err != nil {
		return nil, err
	}
	return t, nil
}

func (t *Thread) run(c *Context, create func() error, started chan<- error) {
	// Never unlocked: the OS thread ends with this goroutine, so that no other
	// goroutine meets our context on it.
	runtime.LockOSThread()
	defer close(t.ended)
	b, err := c.bind(create)
	started <- err
	if err != nil {
		return
	}
	defer b.scratch.free()
	for {
		select {
		case next := <-t.calls:
			next.done <- runCall(next.f, b)
		case <-t.stop:
			return
		}
	}
}

func (c *Context) bind(create func() error) (*Bound, error) {
	if create != nil {
		if err := create(); err != nil {
			return nil, err
		}
	}
	err := c.d.fail(c.d.fn.CtxSetCurrent(c.handle), c.dev.Ordinal, "cuCtxSetCurrent", "")
	if err == nil {
		var scratch *launchScratch
		if scratch, err = newLaunchScratch(); err == nil {
			return &Bound{d: c.d, dev: c.dev, scratch: scratch}, nil
		}
	}
	if create != nil {
		err = errors.Join(err, c.d.fail(c.d.fn.CtxDestroy(c.handle), c.dev.Ordinal, "cuCtxDestroy", ""))
	}
	return nil, err
}

func runCall(f func(*Bound) error, b *Bound) (out outcome) {
	defer func() {
		if p := recover(); p != nil {
			out = outcome{panic: p, stack: debug.Stack()}
		}
	}()
	b.owner = 0
	return outcome{err: f(b)}
}

// Do runs f on the thread and returns its error. Calls of many goroutines run
// one after the other. A panic in f continues in the calling goroutine. f must
// not call Do on the same thread.
func (t *Thread) Do(f func(*Bound) error) error {
	done := make(chan outcome, 1)
	select {
	case t.calls <- call{f, done}:
	case <-t.stop:
		return ErrClosed
	}
	return (<-done).result()
}

// result is the call's error; its panic goes on in the calling goroutine.
func (o outcome) result() error {
	if o.panic != nil {
		panic(fmt.Sprintf("%v\n\non a CUDA thread:\n%s", o.panic, o.stack))
	}
	return o.err
}

// end stops the thread after the call it is in, and waits until it is gone.
func (t *Thread) end() {
	close(t.stop)
	<-t.ended
}

// Close destroys the context, waiting for everything that runs on it: all its
// memory, streams and modules go with it. Later calls of Do return ErrClosed.
// If the driver refuses, the context is as it was and Close may be called
// again; the error of a lost context is no refusal, nor that there is none.
func (c *Context) Close() error {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil
	}
	c.closed = true
	threads := c.threads
	c.threads = nil
	c.mu.Unlock()
	for _, t := range threads {
		t.end()
	}
	err := c.main.Do(func(*Bound) error {
		return c.d.fail(c.d.fn.CtxDestroy(c.handle), c.dev.Ordinal, "cuCtxDestroy", "")
	})
	if err != nil && !Sticky(err) && !Is(err, invalidContext) && !Is(err, contextIsDestroyed) {
		c.mu.Lock()
		c.closed = false
		c.mu.Unlock()
		return err
	}
	c.main.end()
	return err
}

// Closed reports whether the context has been destroyed.
func (c *Context) Closed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

// Device is the card the calls act on.
func (b *Bound) Device() *Device { return b.dev }

func (b *Bound) fail(code Result, call, detail string, args ...any) error {
	return b.d.fail(code, b.dev.Ordinal, call, detail, args...)
}

// ReserveLocal makes the driver take local memory now, for threads of the given
// bytes each, that it would else take at the first launch of a kernel that
// needs them, and returns what it has then. It may wait for everything enqueued
// on the context. Source: CUDA driver API, cuCtxSetLimit: the stack size takes
// effect immediately.
func (b *Bound) ReserveLocal(bytes uint64) (uint64, error) {
	has, err := b.localBytes()
	if err != nil || has >= bytes {
		return has, err
	}
	err = b.fail(b.d.fn.CtxSetLimit(limitStackSize, bytes), "cuCtxSetLimit", "%d bytes of local memory a thread", bytes)
	if err != nil {
		return has, err
	}
	return b.localBytes()
}

func (b *Bound) localBytes() (uint64, error) {
	var has uint64
	err := b.fail(b.d.fn.CtxGetLimit(&has, limitStackSize), "cuCtxGetLimit", "local memory")
	return has, err
}

// SynchronizeDeviceWide waits for everything enqueued on the context. Never on
// a job's path.
func (b *Bound) SynchronizeDeviceWide() error {
	return b.fail(b.d.fn.CtxSynchronize(), "cuCtxSynchronize", "")
}

// bytesOf is the address of a slice's first byte, nil when it is empty.
func bytesOf(p []byte) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(p)) }
