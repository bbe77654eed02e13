// Package par runs many small pieces of work on a few goroutines.
package par

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/libcuzk/libcuzk/internal/sentinel"
)

// For calls do(i) for i = 0 .. n-1, in that order as far as goroutines are
// free, on at most workers goroutines. It stops early when ctx ends or a call
// fails, waits for the calls that run, and returns the first error.
//
// A panic in do is returned as sentinel.ErrInternal: it would otherwise end the
// process, since it happens on a goroutine that no caller can protect.
func For(ctx context.Context, workers, n int, do func(i int) error) error {
	var (
		next  atomic.Int64
		first error
		once  sync.Once
		stop  atomic.Bool
		wait  sync.WaitGroup
	)
	fail := func(err error) {
		once.Do(func() { first = err })
		stop.Store(true)
	}
	work := func() {
		defer func() {
			if p := recover(); p != nil {
				fail(fmt.Errorf("%w: panic: %v\n%s", sentinel.ErrInternal, p, debug.Stack()))
			}
		}()
		for !stop.Load() {
			i := int(next.Add(1)) - 1
			if i >= n {
				return
			}
			if err := context.Cause(ctx); err != nil {
				fail(err)
				return
			}
			if err := do(i); err != nil {
				fail(err)
				return
			}
		}
	}
	for range min(workers, n) - 1 {
		wait.Add(1)
		go func() {
			defer wait.Done()
			work()
		}()
	}
	work()
	wait.Wait()
	return first
}

// Ranges cuts 0 .. n-1 into ranges of step and calls do for each, as For does.
func Ranges(ctx context.Context, workers, n, step int, do func(lo, hi int) error) error {
	return For(ctx, workers, (n+step-1)/step, func(i int) error {
		return do(i*step, min((i+1)*step, n))
	})
}
