package main

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// patience bounds waits that must end; long enough for a busy machine.
const patience = time.Minute

func TestLogMessagesComeInOrder(t *testing.T) {
	q := newLogQueue("the log callback is")
	var lines []string
	q.add(1, 2, "before there is a sink")
	q.replace(func(level int32, text string) { lines = append(lines, fmt.Sprint(level, " ", text)) })
	var want []string
	for i := range 1000 {
		q.add(3, 2, fmt.Sprint("message ", i))
		want = append(want, fmt.Sprint(3, " message ", i))
	}
	q.replace(nil)
	assert.Equal(t, want, lines, "all of them, before replace returned")
	q.add(1, 2, "after")
	q.replace(nil)
	assert.Len(t, lines, len(want))
}

// A host that calls the library while it holds a lock which its callback takes.
func TestLoggingDoesNotWaitForTheSink(t *testing.T) {
	q := newLogQueue("the log callback is")
	var lock sync.Mutex
	done := make(chan struct{})
	q.replace(func(int32, string) { lock.Lock(); defer lock.Unlock() })
	go func() {
		defer close(done)
		lock.Lock()
		defer lock.Unlock()
		q.add(1, 2, "first")
		q.add(1, 2, "second")
	}()
	select {
	case <-done:
	case <-time.After(patience):
		require.Fail(t, "add waits for the sink")
	}
	q.replace(nil)
}

func TestASlowSinkLosesMessagesAndIsTold(t *testing.T) {
	q := newLogQueue("the log callback is")
	var lines []string
	begun, goOn := make(chan struct{}), make(chan struct{})
	var once sync.Once
	q.replace(func(_ int32, text string) {
		once.Do(func() { close(begun); <-goOn })
		lines = append(lines, text)
	})
	q.add(3, 2, "slow")
	<-begun
	for range maxPending + 7 {
		q.add(3, 2, "more")
	}
	close(goOn)
	require.Eventually(t, func() bool {
		q.mu.Lock()
		defer q.mu.Unlock()
		return !q.running
	}, patience, time.Millisecond)
	q.add(3, 2, "later")
	q.replace(nil)
	require.Len(t, lines, 1+maxPending+2)
	assert.Equal(t, []string{"7 messages were dropped: the log callback is too slow", "later"}, lines[1+maxPending:])
}

func TestTheFormerSinkIsNotCalledAfterReplace(t *testing.T) {
	q := newLogQueue("the log callback is")
	stop := make(chan struct{})
	var loggers sync.WaitGroup
	for range 4 {
		loggers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					q.add(3, 2, "text")
				}
			}
		})
	}
	var inside atomic.Int32
	for range 200 {
		over := new(atomic.Bool)
		q.replace(func(int32, string) {
			assert.EqualValues(t, 1, inside.Add(1), "one call at a time")
			assert.False(t, over.Load(), "called after it was replaced")
			inside.Add(-1)
		})
		q.replace(nil)
		over.Store(true)
	}
	close(stop)
	loggers.Wait()
}
