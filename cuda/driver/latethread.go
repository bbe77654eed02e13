package driver

import "sync"

// LateThread is a thread of a context that is made at its first use, for calls
// that no other thread has time for. The zero value is usable.
type LateThread struct {
	mu     sync.Mutex
	thread *Thread // guarded by mu
}

// Do calls f on the thread, as Thread.Do does.
func (l *LateThread) Do(c *Context, f func(*Bound) error) error {
	t, err := l.of(c)
	if err != nil {
		return err
	}
	return t.Do(f)
}

func (l *LateThread) of(c *Context) (*Thread, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.thread == nil {
		t, err := c.NewThread()
		if err != nil {
			return nil, err
		}
		l.thread = t
	}
	return l.thread, nil
}
