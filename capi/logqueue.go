package main

import (
	"fmt"
	"sync"
)

// logQueue hands messages to a sink on a goroutine of its own, one at a time
// and in order. Whoever logs may hold locks, of the library or, on a thread of
// the host, of the host: a callback that takes one of them would wait for
// itself.
type logQueue struct {
	mu        sync.Mutex
	more      *sync.Cond   // delivered grew
	sink      logSink      // guarded by mu; nil: off
	pending   []logMessage // guarded by mu
	running   bool         // a goroutine delivers; guarded by mu
	queued    uint64       // messages taken so far; guarded by mu
	delivered uint64       // of these those that went out; guarded by mu
	dropped   int          // since the last one taken; guarded by mu

	slow string // who is, if messages are dropped: "the reader is"
}

func newLogQueue(slow string) *logQueue {
	q := &logQueue{slow: slow}
	q.more = sync.NewCond(&q.mu)
	return q
}

// logSink takes one message.
type logSink func(level int32, text string)

type logMessage struct {
	sink  logSink // the one of when it was logged
	level int32
	text  string
}

// maxPending messages wait for a slow sink; more are dropped and counted, so
// that logging neither blocks nor fills the memory.
const maxPending = 4096

// add queues a message. warn is the level of the note about dropped ones.
func (q *logQueue) add(level, warn int32, text string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.sink == nil {
		return
	}
	if len(q.pending) >= maxPending {
		q.dropped++
		return
	}
	if q.dropped > 0 {
		q.pushLocked(warn, fmt.Sprintf("%d messages were dropped: %s too slow", q.dropped, q.slow))
		q.dropped = 0
	}
	q.pushLocked(level, text)
}

func (q *logQueue) pushLocked(level int32, text string) {
	q.pending = append(q.pending, logMessage{q.sink, level, text})
	q.queued++
	if !q.running {
		q.running = true
		go q.deliver()
	}
}

// deliver ends when nothing is pending.
func (q *logQueue) deliver() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.pending) > 0 {
		m := q.pending[0]
		q.pending = q.pending[1:]
		q.mu.Unlock()
		m.sink(m.level, m.text)
		q.mu.Lock()
		q.delivered++
		q.more.Broadcast()
	}
	q.pending, q.running = nil, false
}

// undelivered reports whether a message has not reached its sink.
func (q *logQueue) undelivered() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.delivered < q.queued
}

// replace has later messages go to sink and returns when the earlier ones have
// reached the former sink, which is not called any more.
func (q *logQueue) replace(sink logSink) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.sink, q.dropped = sink, 0
	for before := q.queued; q.delivered < before; {
		q.more.Wait()
	}
}
