package sched

import (
	"fmt"

	"github.com/libcuzk/libcuzk/internal/sentinel"
	"github.com/libcuzk/libcuzk/internal/vram"
)

// Stream is a queue of device work with one role. Work on one stream runs in
// the order it was enqueued.
type Stream uint8

// The streams of a device.
const (
	// Upload carries the copies of the job in its upload turn. Nothing on it
	// ever waits for a kernel, so it always drains.
	Upload Stream = iota
	// Compute carries the kernels, in ticket order.
	Compute
	// Tiles carries the pieces of a parameter set that is not resident, for
	// the job in its compute turn.
	Tiles
	// Download carries results back.
	Download
	// Load carries a parameter set that is being loaded, in the background.
	Load

	// Streams is their number.
	Streams
)

func (s Stream) String() string {
	names := [Streams]string{"upload", "compute", "tiles", "download", "load"}
	if s < Streams {
		return names[s]
	}
	return "unknown stream"
}

// Event is a device's handle of a point in a stream.
type Event = vram.Event

// Device is what the protocol asks of a device. No method may wait for work
// on the device: each is called with the memory lock held, or in between a
// job's launches. Methods are called from many goroutines, and never two at
// a time for the same stream.
//
// An error of Record, Wait or Poll means that the order of work on the device
// is no longer known: the device counts as lost until Recover. Any other call
// that finds a sticky error wraps it with ErrDeviceLost to say the same.
type Device interface {
	// Record makes a new event at the tail of s as it is now. An event is
	// recorded once; its object may be used again only after Destroy.
	Record(s Stream) (Event, error)
	// Poll counts the events of each stream, oldest first, whose work before
	// them has completed, up to the first whose has not.
	Poll(pending *[Streams][]Event) (done [Streams]int, err error)
	// Wait makes later work on s wait for e. s is never Upload or Load.
	Wait(s Stream, e Event) error
	// Destroy gives e back. Nobody waits for it any more.
	Destroy(e Event)

	// Map puts physical memory under [offset, offset+bytes) of the address
	// range that the device has reserved for Config.Budget bytes. Both are
	// multiples of Config.Chunk, but for the end of the last chunk. An error
	// wrapped with ErrNoMemory says that the device has none left now (other
	// processes use it too).
	Map(offset, bytes uint64) error
	// Unmap takes back what one call of Map gave. No work uses it.
	Unmap(offset, bytes uint64) error
}

// Errors of a Scheduler. A job that can never fit gets *vram.TooLargeError.
var (
	// ErrDeviceLost means that the device reported an error after which
	// nothing on it can be trusted. All its jobs fail with it until Recover.
	ErrDeviceLost = sentinel.ErrDeviceLost
	// ErrNoMemory means that the device has less memory left than the budget
	// says, because others use it as well.
	ErrNoMemory = sentinel.New(sentinel.ErrDeviceMemory, "sched: device has no memory left")
	// ErrClosed is returned once the Scheduler, the Pool or the Queue is closed.
	ErrClosed = sentinel.ErrClosed
)

var errClosed = fmt.Errorf("sched: %w", ErrClosed)
