package sched

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
)

// Pool is the workers of one device: each takes a value from a queue and
// carries it to its end before it takes the next. Workers are numbered from 0.
//
// A worker that must leave first finishes what it carries, and counts until then;
// if the target is raised meanwhile it stays. So there are never more workers
// than the largest target set since all were last idle.
//
// What a worker carries may park: it waits without the worker, which goes on
// with the queue meanwhile, and then takes the next worker that is idle, before
// anything in the queue.
type Pool[T any] struct {
	queue *Queue[T]
	run   func(c *Carried, v T)
	group sync.WaitGroup // workers, and the goroutines of what they carry

	mu        sync.Mutex
	target    int        // guarded by mu; workers below it are to stay
	seats     []seat     // guarded by mu; by worker
	live      int        // guarded by mu; occupied seats
	returning []*Carried // guarded by mu; parked before, and ready to go on, in order
	closed    bool       // guarded by mu
}

// seat is one worker's place.
type seat struct {
	occupied bool
	wake     context.CancelFunc // ends the worker's wait for the queue
}

// Carried is what a worker carries.
type Carried struct {
	pool   parking
	worker int           // -1: none; belongs to what is carried
	goesOn chan int      // takes the worker that carries it on; -1: the pool is closed
	paused chan struct{} // takes a value when it parks
	ended  chan struct{} // closed at its end
}

// parking is the part of a Pool that does not know T.
type parking interface {
	comeBack(c *Carried) error
	leaveAgain(c *Carried) bool
}

// Worker is the number of the worker that carries c now.
func (c *Carried) Worker() int { return c.worker }

// Park calls wait without a worker, and returns its error once a worker carries c
// again. If ctx ends, or the pool is closed, no worker does: c has to end soon.
func (c *Carried) Park(ctx context.Context, wait func() error) error {
	if c.worker >= 0 {
		c.worker = -1
		c.paused <- struct{}{}
	}
	err := wait()
	if ctx.Err() != nil {
		return cmp.Or(err, context.Cause(ctx))
	}
	if closed := c.goOn(ctx); closed != nil {
		return cmp.Or(err, closed)
	}
	return err
}

// goOn waits for a worker.
func (c *Carried) goOn(ctx context.Context) error {
	if err := c.pool.comeBack(c); err != nil {
		return err
	}
	select {
	case c.worker = <-c.goesOn:
	case <-ctx.Done():
		if c.pool.leaveAgain(c) {
			return context.Cause(ctx)
		}
		c.worker = <-c.goesOn
	}
	if c.worker < 0 {
		return errClosed
	}
	return nil
}

// NewPool returns a pool without workers that will call run for each value
// popped from queue.
func NewPool[T any](queue *Queue[T], run func(c *Carried, v T)) *Pool[T] {
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

// Live is the number of workers there are, those about to leave included.
func (p *Pool[T]) Live() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.live
}

// Close sends all workers away and returns when they, and what has parked, have
// come to their end. What is still queued stays there.
func (p *Pool[T]) Close() {
	p.mu.Lock()
	p.closed = true
	for _, c := range p.returning {
		c.goesOn <- -1
	}
	p.returning = nil
	p.setLocked(0)
	p.mu.Unlock()
	p.group.Wait()
}

// comeBack puts c in line for a worker.
func (p *Pool[T]) comeBack(c *Carried) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return errClosed
	}
	p.returning = append(p.returning, c)
	for i := range p.seats {
		if wake := p.seats[i].wake; wake != nil {
			wake()
		}
	}
	return nil
}

// leaveAgain takes c out of the line, unless a worker has taken it or the pool is
// closed.
func (p *Pool[T]) leaveAgain(c *Carried) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.Index(p.returning, c)
	if i < 0 {
		return false
	}
	p.returning = slices.Delete(p.returning, i, i+1)
	return true
}

// work carries values until the worker is not wanted or the queue is closed.
func (p *Pool[T]) work(worker int) {
	for {
		ctx, c, stay := p.stay(worker)
		if !stay {
			return
		}
		if c == nil {
			v, err := p.queue.Pop(ctx)
			switch {
			case errors.Is(err, ErrClosed):
				p.leave(worker)
				return
			case err != nil:
				continue
			}
			c = p.carry(worker, v)
		}
		select {
		case <-c.paused:
		case <-c.ended:
		}
	}
}

// carry starts what the worker carries.
func (p *Pool[T]) carry(worker int, v T) *Carried {
	c := &Carried{
		pool: p, worker: worker,
		goesOn: make(chan int, 1), paused: make(chan struct{}), ended: make(chan struct{}),
	}
	p.group.Go(func() {
		defer close(c.ended)
		p.run(c, v)
	})
	return c
}

// stay is what the worker carries on, or the context for its next wait, or false
// if it has left.
func (p *Pool[T]) stay(worker int) (context.Context, *Carried, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if worker >= p.target {
		p.leaveLocked(worker)
		return nil, nil, false
	}
	if len(p.returning) > 0 {
		c := p.returning[0]
		p.returning = p.returning[1:]
		c.goesOn <- worker
		return nil, c, true
	}
	s := &p.seats[worker]
	if s.wake != nil {
		s.wake() // releases the former wait's context
	}
	var ctx context.Context
	ctx, s.wake = context.WithCancel(context.Background())
	return ctx, nil, true
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
