package sched

import (
	"container/list"
	"context"
	"fmt"
	"sync"
)

// Priority is one of four levels; a job of a higher level is taken first.
type Priority uint8

// The levels and who uses them in Curio. The zero value stands for Normal.
const (
	Default  Priority = iota
	Low               // background work
	Normal            // PoRep, snap deals
	High              // WindowPoSt
	Critical          // WinningPoSt
)

// levels is the number of priorities that a queue tells apart.
const levels = int(Critical)

// AgeLimit is how many jobs in a row may be taken past a level that has jobs
// waiting, before that level is served once.
const AgeLimit = 16

func (p Priority) String() string {
	names := [...]string{"default", "low", "normal", "high", "critical"}
	if int(p) < len(names) {
		return names[p]
	}
	return fmt.Sprintf("priority(%d)", uint8(p))
}

// Valid reports whether p is Default or one of the four levels.
func (p Priority) Valid() bool { return p <= Critical }

// level is p's index into the queue's levels, 0 for Low.
func (p Priority) level() int {
	if p == Default {
		p = Normal
	}
	return int(p) - 1
}

// Queue holds what waits for a worker: highest priority first, then arrival.
//
// Ageing is by count, not by time: every Pop passes over the other levels
// that have something waiting, and a level passed over AgeLimit times in a
// row is served next. So nothing starves: the k-th of its level (from 0) is
// out after at most (k+1)·(AgeLimit+levels-1) pops. And a backlog cannot bury
// urgent work: when a Critical job arrives at an empty level, at most
// levels-1 others are taken before it, one for each level that has aged.
//
// All methods may be called from many goroutines. The zero value is not
// usable; call NewQueue.
type Queue[T any] struct {
	mu       sync.Mutex
	nonEmpty *sync.Cond // signalled on Push, Close and the end of a Pop's context

	waiting [levels]list.List // guarded by mu; of *Entry[T] in order of arrival
	passed  [levels]int       // guarded by mu; pops since the level was served or had nothing waiting
	closed  bool              // guarded by mu
}

// Entry is one waiting value; it is what Remove takes.
type Entry[T any] struct {
	value T
	level int
	place *list.Element // guarded by the queue's mu; nil once it was taken out
}

// NewQueue returns an empty queue.
func NewQueue[T any]() *Queue[T] {
	q := &Queue[T]{}
	q.nonEmpty = sync.NewCond(&q.mu)
	return q
}

// Push adds v behind what waits at p. It never blocks. It returns
// ErrClosed after Close, and an error if p is no priority.
func (q *Queue[T]) Push(v T, p Priority) (*Entry[T], error) {
	if !p.Valid() {
		return nil, fmt.Errorf("sched: push: priority %d, expected 0 (default) to %d (%v)", uint8(p), uint8(Critical), Critical)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return nil, errClosed
	}
	e := &Entry[T]{value: v, level: p.level()}
	e.place = q.waiting[e.level].PushBack(e)
	q.nonEmpty.Signal()
	return e, nil
}

// Pop waits for a value and takes it. It returns ctx's error once ctx ends,
// also when something is waiting, and ErrClosed after Close.
func (q *Queue[T]) Pop(ctx context.Context) (T, error) {
	stop := context.AfterFunc(ctx, func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.nonEmpty.Broadcast()
	})
	defer stop()

	q.mu.Lock()
	defer q.mu.Unlock()
	for {
		var none T
		if err := ctx.Err(); err != nil {
			// A Signal meant for this call must not be lost with it.
			q.nonEmpty.Signal()
			return none, err
		}
		if q.closed {
			return none, errClosed
		}
		if l := q.nextLevelLocked(); l >= 0 {
			return q.takeLocked(l), nil
		}
		q.nonEmpty.Wait()
	}
}

// Remove takes e out if it is still waiting, and reports whether it was.
// Exactly one of Remove and Pop gets each value.
func (q *Queue[T]) Remove(e *Entry[T]) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if e.place == nil {
		return false
	}
	q.takeOutLocked(e)
	if q.waiting[e.level].Len() == 0 {
		q.passed[e.level] = 0
	}
	return true
}

func (q *Queue[T]) takeOutLocked(e *Entry[T]) {
	q.waiting[e.level].Remove(e.place)
	e.place = nil
}

// Len is the number of waiting values.
func (q *Queue[T]) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := 0
	for l := range q.waiting {
		n += q.waiting[l].Len()
	}
	return n
}

// Close makes Push and Pop fail and returns what was still waiting, highest
// level first, for the caller to answer. A second Close returns nothing.
func (q *Queue[T]) Close() []T {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	var left []T
	for l := levels - 1; l >= 0; l-- {
		for q.waiting[l].Len() > 0 {
			e := q.firstLocked(l)
			q.takeOutLocked(e)
			left = append(left, e.value)
		}
	}
	q.nonEmpty.Broadcast()
	return left
}

// nextLevelLocked is the level to serve next: of those that have aged the
// one passed over longest, else the highest; -1 if nothing waits.
func (q *Queue[T]) nextLevelLocked() int {
	next, longest := -1, AgeLimit-1
	for l := range q.waiting {
		if q.waiting[l].Len() == 0 {
			continue
		}
		switch {
		case q.passed[l] > longest:
			next, longest = l, q.passed[l]
		case longest < AgeLimit:
			next = l
		}
	}
	return next
}

// takeLocked takes the first value of level l, which must have one, and
// counts it against the levels passed over.
func (q *Queue[T]) takeLocked(l int) T {
	e := q.firstLocked(l)
	q.takeOutLocked(e)
	for other := range q.waiting {
		if other == l || q.waiting[other].Len() == 0 {
			q.passed[other] = 0
		} else {
			q.passed[other]++
		}
	}
	return e.value
}

// firstLocked is what has waited longest at level l, which must have one.
func (q *Queue[T]) firstLocked(l int) *Entry[T] {
	return q.waiting[l].Front().Value.(*Entry[T])
}
