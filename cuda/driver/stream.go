package driver

import "time"

// eventDisableTiming is CU_EVENT_DISABLE_TIMING: cheaper to record and query.
const eventDisableTiming = 2

// NewStream makes a stream that is not tied to the default stream.
func (b *Bound) NewStream() (Stream, error) {
	var s Stream
	err := b.fail(b.d.fn.StreamCreate(&s, streamNonBlocking), "cuStreamCreate", "")
	return s, err
}

// DestroyStream gives the stream back once what is enqueued on it has run; it
// does not wait.
func (b *Bound) DestroyStream(s Stream) error {
	return b.fail(b.d.fn.StreamDestroy(s), "cuStreamDestroy", "")
}

// Synchronize waits until the stream is empty. Never on a job's path.
func (b *Bound) Synchronize(s Stream) error {
	return b.fail(b.d.fn.StreamSynchronize(s), "cuStreamSynchronize", "")
}

// Wait makes the stream wait for e. e must have been recorded: a wait for an
// event that was not is no wait at all.
func (b *Bound) Wait(s Stream, e Event) error {
	return b.fail(b.d.fn.StreamWaitEvent(s, e, 0), "cuStreamWaitEvent", "")
}

// NewEvent makes an event without a time stamp.
func (b *Bound) NewEvent() (Event, error) { return b.newEvent(eventDisableTiming) }

// NewTimer makes an event with a time stamp, for Elapsed.
func (b *Bound) NewTimer() (Event, error) { return b.newEvent(0) }

func (b *Bound) newEvent(flags uint32) (Event, error) {
	var e Event
	err := b.fail(b.d.fn.EventCreate(&e, flags), "cuEventCreate", "")
	return e, err
}

// DestroyEvent gives an event back; it does not wait.
func (b *Bound) DestroyEvent(e Event) error {
	return b.fail(b.d.fn.EventDestroy(e), "cuEventDestroy", "")
}

// Record puts e behind everything enqueued on s so far.
func (b *Bound) Record(e Event, s Stream) error {
	return b.fail(b.d.fn.EventRecord(e, s), "cuEventRecord", "")
}

// Done reports whether what e was recorded behind has run. An error is that of
// a kernel or copy that failed.
func (b *Bound) Done(e Event) (bool, error) {
	code := b.d.fn.EventQuery(e)
	if code == ErrorNotReady {
		return false, nil
	}
	return code == Success, b.fail(code, "cuEventQuery", "")
}

// Elapsed is the time between two events of NewTimer that have run.
func (b *Bound) Elapsed(start, end Event) (time.Duration, error) {
	var ms float32
	err := b.fail(b.d.fn.EventElapsedTime(&ms, start, end), "cuEventElapsedTime", "")
	return time.Duration(float64(ms) * float64(time.Millisecond)), err
}
