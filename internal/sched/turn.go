package sched

import (
	"context"
	"sync"
)

// turn lets tickets pass one at a time, in order. Every ticket passes every
// turn exactly once, also one that has been cancelled long before it is due.
type turn struct {
	name    string
	waiting string // name of the span of a wait

	mu     sync.Mutex               // a leaf: nothing else is taken under it
	due    uint64                   // guarded by mu; the ticket whose turn it is
	passed map[uint64]bool          // guarded by mu; tickets after due that will not take theirs
	await  map[uint64]chan struct{} // guarded by mu; closed when the ticket is due
}

func newTurn(name string) *turn {
	return &turn{name: name, waiting: "wait for " + name, passed: map[uint64]bool{}, await: map[uint64]chan struct{}{}}
}

// wait returns once it is ticket n's turn, or ctx's error.
func (t *turn) wait(ctx context.Context, n uint64) error {
	MayWait(t.name)
	if err := context.Cause(ctx); err != nil {
		return err
	}
	t.mu.Lock()
	if t.due == n {
		t.mu.Unlock()
		return nil
	}
	c := make(chan struct{})
	t.await[n] = c
	t.mu.Unlock()
	select {
	case <-c:
		return nil
	case <-ctx.Done():
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.await, n)
		return context.Cause(ctx)
	}
}

// pass ends ticket n's turn, now or when it comes. A second pass does nothing.
func (t *turn) pass(n uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n < t.due {
		return
	}
	t.passed[n] = true
	for t.passed[t.due] {
		delete(t.passed, t.due)
		t.due++
	}
	if c, ok := t.await[t.due]; ok {
		delete(t.await, t.due)
		close(c)
	}
}
