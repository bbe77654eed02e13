package timeline

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/libcuzk/libcuzk/internal/plainfile"
)

// ShortHold is the time from which a lock's hold gets a span of its own. A
// polling scheduler takes a lock ten thousand times a second for less.
const ShortHold = 10 * time.Microsecond

const (
	// flushInterval is how late a span may be in the file.
	flushInterval = 100 * time.Millisecond
	// maxPending bounds the spans that wait for a slow disk: about 100 MB.
	maxPending = 1 << 20
	// processVerb in a path stands for the number of the process.
	processVerb = "%p"
)

// Errors of Start and Stop.
var (
	ErrRecording    = errors.New("timeline: a recording is running already")
	ErrNotRecording = errors.New("timeline: no recording is running")
	ErrFile         = errors.New("timeline: the file cannot be written")
)

// current is the running recording, or nil.
var current atomic.Pointer[recording]

// recording is one run of Start to Stop.
type recording struct {
	begin time.Time
	file  io.WriteCloser
	log   *slog.Logger  // told of what is lost
	stop  chan struct{} // closed by Stop
	gone  chan struct{} // closed when everything is written

	mu      sync.Mutex
	pending []event           // guarded by mu
	short   map[*Track]uint64 // guarded by mu; short holds since the last flush
	dropped uint64            // guarded by mu; since the last flush

	// The rest belongs to the goroutine of run until gone is closed.

	out   *bufio.Writer
	first bool            // nothing has been written yet
	named map[*Track]bool // tracks whose names are in the file
	spare []event         // for the next pending
	err   error           // the first of writing
}

// event is a span.
type event struct {
	track      *Track
	name       string
	begin, end time.Time
	job        uint64 // 0: belongs to none
	partition  int
}

// Expand puts the number of the process in place of %p, so that processes
// that share a setting have a file each.
func Expand(path string) string {
	return strings.ReplaceAll(path, processVerb, strconv.Itoa(os.Getpid()))
}

// Start makes the file, %p in its path standing for the number of the process,
// and records into it until Stop. Errors: ErrRecording, ErrFile.
func Start(path string) error { return StartLogged(path, slog.New(slog.DiscardHandler)) }

// StartLogged is Start with a log that hears of it when the recording is lost, on
// a full disk for instance: Stop may never be called.
func StartLogged(path string, log *slog.Logger) error {
	if current.Load() != nil {
		return ErrRecording
	}
	// Others may know the name, which is often in /tmp: no link is followed.
	const everybodyReads = 0o644
	path = Expand(path)
	file, err := plainfile.Create(path, everybodyReads)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrFile, err)
	}
	return start(file, log.With("path", path))
}

func start(file io.WriteCloser, log *slog.Logger) error {
	r := &recording{
		begin: time.Now(), file: file, log: log,
		stop: make(chan struct{}), gone: make(chan struct{}),
		short: map[*Track]uint64{}, first: true,
		named: map[*Track]bool{}, out: bufio.NewWriter(file),
	}
	if !current.CompareAndSwap(nil, r) {
		return errors.Join(ErrRecording, file.Close())
	}
	go r.run()
	return nil
}

// Stop ends the recording and completes its file. Errors: ErrNotRecording,
// ErrFile with the first that occurred when writing.
func Stop() error {
	r := current.Swap(nil)
	if r == nil {
		return ErrNotRecording
	}
	close(r.stop)
	<-r.gone
	if r.err != nil {
		return fmt.Errorf("%w: %w", ErrFile, r.err)
	}
	return nil
}

// On reports whether a recording is running.
func On() bool { return current.Load() != nil }

// Now is the time, or zero while nothing is recorded: for the begin of a span
// that is not worth a look at the clock otherwise.
func Now() time.Time {
	if !On() {
		return time.Time{}
	}
	return time.Now()
}

func (r *recording) add(e event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.pending) == maxPending {
		r.dropped++
		return
	}
	r.pending = append(r.pending, e)
}

func (r *recording) countShort(track *Track) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.short[track]++
}

// run writes what has been recorded until Stop.
func (r *recording) run() {
	defer close(r.gone)
	tick := time.NewTicker(flushInterval)
	defer tick.Stop()
	r.writeStart()
	for {
		select {
		case <-tick.C:
			r.flush()
		case <-r.stop:
			r.flush()
			r.writeEnd()
			r.fail(r.file.Close())
			return
		}
	}
}

func (r *recording) flush() {
	r.mu.Lock()
	events := r.pending
	r.pending = r.spare[:0]
	short, dropped := r.short, r.dropped
	r.short, r.dropped = map[*Track]uint64{}, 0
	r.mu.Unlock()

	for i := range events {
		r.writeEvent(&events[i])
	}
	for track, n := range short {
		r.writeShort(track, n)
	}
	if dropped > 0 {
		r.writeDropped(dropped)
	}
	r.fail(r.out.Flush())
	clear(events)
	r.spare = events
}

// fail notes the first error of writing; what comes after it is lost.
func (r *recording) fail(err error) {
	if r.err == nil && err != nil {
		r.err = err
		r.log.Warn("the timeline is lost from here on", "error", err)
	}
}
