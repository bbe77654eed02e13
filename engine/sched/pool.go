package sched

import (
	"context"
	"sync"
)

// Pool is the workers of one device: each takes a job from a queue and
// carries it to its end before it takes the next.
type Pool[T any] struct {
	queue *Queue[T]
	run   func(T)
	group sync.WaitGroup

	mu     sync.Mutex
	stop   []context.CancelFunc // guarded by mu; one for each worker that is to stay
	closed bool                 // guarded by mu
}

// NewPool returns a pool without workers that will call run for each value
// popped from queue.
func NewPool[T any](queue *Queue[T], run func(T)) *Pool[T] {
	return &Pool[T]{queue: queue, run: run}
}

// SetWorkers makes n workers, now or while jobs run: new ones start at once,
// surplus ones leave when they have carried their job to its end. Negative n
// counts as 0. After Close it does nothing.
func (p *Pool[T]) SetWorkers(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	for len(p.stop) < n {
		ctx, cancel := context.WithCancel(context.Background())
		p.stop = append(p.stop, cancel)
		p.group.Go(func() { p.work(ctx) })
	}
	for len(p.stop) > max(n, 0) {
		last := len(p.stop) - 1
		p.stop[last]()
		p.stop = p.stop[:last]
	}
}

// Workers is the number last set.
func (p *Pool[T]) Workers() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.stop)
}

// Close sends all workers away and returns when they have carried their jobs
// to the end. What is still queued stays there.
func (p *Pool[T]) Close() {
	p.SetWorkers(0)
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.group.Wait()
}

// work carries jobs until ctx ends or the queue is closed. ctx does not reach
// the jobs.
func (p *Pool[T]) work(ctx context.Context) {
	for {
		v, err := p.queue.Pop(ctx)
		if err != nil {
			return
		}
		p.run(v)
	}
}
