package sched

import (
	"context"
	"errors"
	"sync"
)

// Pool is the workers of one device: each takes a job from a queue and
// carries it to its end before it takes the next. Workers are numbered from 0.
//
// There are never more workers than the largest number set since the last one
// carried nothing: a worker that is to leave but still carries a job counts,
// and stays if the number is raised again meanwhile.
type Pool[T any] struct {
	queue *Queue[T]
	run   func(worker int, v T)
	group sync.WaitGroup

	mu     sync.Mutex
	target int    // guarded by mu; workers below it are to stay
	seats  []seat // guarded by mu; by worker
	live   int    // guarded by mu; occupied seats
	closed bool   // guarded by mu
}

// seat is one worker's place.
type seat struct {
	occupied bool
	wake     context.CancelFunc // ends the worker's wait for the queue
}

// NewPool returns a pool without workers that will call run for each value
// popped from queue.
func NewPool[T any](queue *Queue[T], run func(worker int, v T)) *Pool[T] {
	return &Pool[T]{queue: queue, run: run}
}

// SetWorkers makes n workers, now or while jobs run: new ones start at once,
// surplus ones leave when they have carried their job to its end. Negative n
// counts as 0. After Close it does nothing.
func (p *Pool[T]) SetWorkers(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.setLocked(max(n, 0))
	}
}

func (p *Pool[T]) setLocked(n int) {
	p.target = n
	for len(p.seats) < n {
		p.seats = append(p.seats, seat{})
	}
	for i := range p.seats {
		switch s := &p.seats[i]; {
		case i < n && !s.occupied:
			s.occupied = true
			p.live++
			p.group.Go(func() { p.work(i) })
		case i >= n && s.wake != nil:
			s.wake()
		}
	}
}

// Workers is the number last set.
func (p *Pool[T]) Workers() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.target
}

// Live is the number of workers there are, those about to leave included.
func (p *Pool[T]) Live() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.live
}

// Close sends all workers away and returns when they have carried their jobs
// to the end. What is still queued stays there.
func (p *Pool[T]) Close() {
	p.mu.Lock()
	p.closed = true
	p.setLocked(0)
	p.mu.Unlock()
	p.group.Wait()
}

// work carries jobs until the worker is not wanted or the queue is closed.
func (p *Pool[T]) work(worker int) {
	for {
		ctx, stay := p.stay(worker)
		if !stay {
			return
		}
		v, err := p.queue.Pop(ctx)
		switch {
		case err == nil:
			p.run(worker, v)
		case errors.Is(err, ErrClosed):
			p.leave(worker)
			return
		}
	}
}

// stay is the context for the worker's next wait, or false if it has left.
func (p *Pool[T]) stay(worker int) (context.Context, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if worker >= p.target {
		p.leaveLocked(worker)
		return nil, false
	}
	s := &p.seats[worker]
	if s.wake != nil {
		s.wake() // lets go of the former wait's context
	}
	var ctx context.Context
	ctx, s.wake = context.WithCancel(context.Background())
	return ctx, true
}

func (p *Pool[T]) leave(worker int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.leaveLocked(worker)
}

func (p *Pool[T]) leaveLocked(worker int) {
	s := &p.seats[worker]
	if s.wake != nil {
		s.wake()
	}
	*s = seat{}
	p.live--
}
