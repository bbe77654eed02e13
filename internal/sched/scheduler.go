package sched

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/libcuzk/libcuzk/engine/timeline"
	"github.com/libcuzk/libcuzk/internal/vram"
)

// ChunkBytes is the usual size of a piece of physical memory: mapping one
// takes 20 us and giving it back 80 us on the H200, whatever runs there.
const ChunkBytes = 256 << 20

// Config are the settings of a Scheduler.
type Config struct {
	// Budget is the VRAM for blocks and parameter sets, in bytes. The context
	// and what the device keeps for good (tables, modules) are not part of it.
	Budget uint64
	// Chunk is the size in which physical memory is mapped, in bytes: a
	// multiple of vram.Granule; 0 means ChunkBytes.
	Chunk uint64
	// IdleAfter is how long a chunk must lie idle before it is given back to
	// other processes, and how long there must be no job before the parameter
	// sets are; 0 means never.
	IdleAfter time.Duration
	// MemoryWait is how long a job waits when other processes have taken the
	// memory that the budget promises, before it fails with ErrNoMemory.
	MemoryWait time.Duration
	// HangAfter is how long the oldest work of a stream may last before the device
	// counts as lost by ErrHung; 0 means for ever.
	HangAfter time.Duration
	// Neighbours, if not nil, are those other processes.
	Neighbours Neighbours
	// Pause sleeps between two looks at the device's events. Nil means a
	// sleep of the OS thread, since Go's timers round short sleeps up to 1 ms.
	Pause func(time.Duration)
	// Tracks is where the timeline shows the two locks; nil: nowhere.
	Tracks *timeline.Device
}

// Work is what a partition does in its three stages. Each of Upload, Compute
// and Finish is called at most once, in this order, on the goroutine that called
// Run; a later one is not called if an earlier one failed. A nil function does
// nothing. They must return soon after ctx ends.
type Work struct {
	// Fill loads the partition's parameter set, if the partition or a later one
	// needs that: at any time from now on, also after Run has returned, on a
	// goroutine of its own. It belongs to the set, not to the partition.
	Fill Fill
	// Park, if not nil, calls wait and returns its error, or another one if the
	// partition may not go on. Meanwhile the partition has no ticket, and needs
	// no worker. It is called when the partition waits for a load.
	Park func(wait func() error) error
	// Upload stages the job's inputs: it runs in the upload turn and holds no
	// lock. It may use several goroutines, all of them gone when it returns.
	Upload func(ctx context.Context, t *Ticket) error
	// Compute enqueues the job's kernels: it runs in the compute turn and
	// holds no lock. What it has not handed on when it returns is handed on
	// then, at the tails of the streams.
	Compute func(ctx context.Context, t *Ticket) error
	// Finish waits for the results. The job holds no memory and no turn.
	Finish func(ctx context.Context, t *Ticket) error
	// Stage, if not nil, is told how long each stage took.
	Stage func(name string, seconds float64)
	// Track, which may be nil, gets the waits for the turns.
	Timeline *timeline.Partition
}

// Scheduler runs jobs on one device. All methods may be called from many
// goroutines.
type Scheduler struct {
	cfg     Config
	mem     memLock
	compute computeLock

	claimTurn, uploadTurn, computeTurn *turn

	background sync.WaitGroup // the goroutines of poll, carryLoads, trimWhenIdle and watchNeighbours
	asking     chan struct{}  // holds a token while Neighbours.Ask is called, until its release

	// The rest is guarded by mem.

	dev         Device
	ledger      *vram.Ledger
	changed     chan struct{} // closed and replaced whenever a wait may have ended
	next        uint64        // the next ticket
	outstanding map[*Ticket]struct{}
	pending     [Streams][]*vram.Mark // recorded and not seen done, oldest first
	oldest      [Streams]time.Time    // since when the first of pending is that
	asked       [Streams][]Event      // for one call of Poll; kept so that the lock's holder allocates nothing
	recorded    uint64                // events so far
	tail        [Streams]*vram.Mark   // the last mark of a stream, while nothing was enqueued after it
	watchers    int                   // waits that need the device's events looked at
	polling     bool                  // a goroutine looks
	watchedFrom time.Time             // since when without a wait having begun or an event done
	loads       []*Loading            // in line; the first is worked on
	carrying    bool                  // a goroutine carries loads
	loaded      uint64                // loads that ended well
	lost        error                 // why the device is lost
	recovering  bool
	closed      bool
	gaveWay     time.Time // when a neighbour was last given way to in vain
	stopTrim    chan struct{}
	stats       counters
	audit       func() // tests: called at every step
}

// New returns a Scheduler for dev, which has reserved addresses for
// cfg.Budget bytes and mapped nothing yet.
func New(dev Device, cfg Config) (*Scheduler, error) {
	if cfg.Chunk == 0 {
		cfg.Chunk = ChunkBytes
	}
	if cfg.Pause == nil {
		cfg.Pause = pause
	}
	ledger, err := vram.NewLedger(cfg.Budget, cfg.Chunk)
	if err != nil {
		return nil, fmt.Errorf("sched: new scheduler: %w", err)
	}
	s := &Scheduler{
		cfg:         cfg,
		claimTurn:   newTurn("the claim turn"),
		uploadTurn:  newTurn("the upload turn"),
		computeTurn: newTurn("the compute turn"),
		dev:         dev,
		ledger:      ledger,
		changed:     make(chan struct{}),
		outstanding: map[*Ticket]struct{}{},
		stopTrim:    make(chan struct{}),
		asking:      make(chan struct{}, 1),
	}
	if cfg.Tracks != nil {
		s.mem.track = cfg.Tracks.Track(timeline.Lock, memLockName)
		s.compute.track = cfg.Tracks.Track(timeline.Lock, computeLockName)
	}
	if cfg.IdleAfter > 0 {
		s.background.Go(s.trimWhenIdle)
	}
	if cfg.Neighbours != nil {
		s.background.Go(s.watchNeighbours)
	}
	return s, nil
}

// Check refuses a need that does not fit the budget even when nothing else is
// on the device: *vram.TooLargeError, with the numbers.
func (s *Scheduler) Check(n vram.Need) error {
	s.mem.Lock()
	defer s.mem.Unlock()
	return s.ledger.Check(n)
}

// Run carries one partition through the device: claim, upload, compute, finish.
// Before it draws its ticket it waits until its parameter set is loaded, if it
// cannot stream. It returns the first error of w's functions, ctx's error if ctx
// ended first, *vram.TooLargeError at once if the partition can never fit,
// ErrDeviceLost or ErrNoMemory. A panic of w's functions becomes an error that
// begins with BUG.
func (s *Scheduler) Run(ctx context.Context, n vram.Need, w Work) error {
	d := &drawing{s: s, need: n, fill: w.Fill}
	defer d.leave()
	for {
		err := s.runOnce(ctx, d, w)
		if !errors.Is(err, errAway) {
			return err
		}
	}
}

// errAway ends a ticket whose parameter set has been evicted since it was drawn.
var errAway = errors.New("sched: the parameter set has been evicted")

// runOnce is Run with one ticket.
func (s *Scheduler) runOnce(ctx context.Context, d *drawing, w Work) (err error) {
	t, err := d.draw(ctx, w)
	if err != nil {
		return err
	}
	defer func() {
		if p := recover(); p != nil {
			if keepPanicking(p) {
				panic(p)
			}
			err = fmt.Errorf("BUG: sched: partition of ticket %d panicked: %v\n%s", t.number, p, debug.Stack())
		}
		err = t.end(err)
		s.yieldToNeighbours()
	}()
	return t.run(w)
}

// run takes t through its stages, in order.
func (t *Ticket) run(w Work) error {
	for _, stage := range []struct {
		name string
		run  func(Work) error
	}{
		{"claim", t.claimStage},
		{"upload", t.uploadStage},
		{"compute", t.computeStage},
		{"finish", t.finishStage},
	} {
		begin := time.Now()
		if err := stage.run(w); err != nil {
			return err
		}
		if w.Stage != nil {
			w.Stage(stage.name, time.Since(begin).Seconds())
		}
	}
	return nil
}

func (t *Ticket) claimStage(w Work) error {
	s := t.s
	if err := t.takeTurn(s.claimTurn, w); err != nil {
		return err
	}
	if err := s.claim(t); err != nil {
		return err
	}
	s.claimTurn.pass(t.number)
	return nil
}

func (t *Ticket) uploadStage(w Work) error {
	s := t.s
	if err := t.takeTurn(s.uploadTurn, w); err != nil {
		return err
	}
	t.enter(stageUpload)
	if w.Upload != nil {
		if err := w.Upload(t.ctx, t); err != nil {
			return err
		}
	}
	if err := t.uploaded(); err != nil {
		return err
	}
	s.uploadTurn.pass(t.number)
	return nil
}

func (t *Ticket) computeStage(w Work) error {
	s := t.s
	if err := t.takeTurn(s.computeTurn, w); err != nil {
		return err
	}
	if err := t.yield(); err != nil {
		return err
	}
	if w.Compute != nil {
		if err := w.Compute(t.ctx, t); err != nil {
			return err
		}
	}
	if err := t.handOnRest(); err != nil {
		return err
	}
	s.computeTurn.pass(t.number)
	return nil
}

func (t *Ticket) takeTurn(of *turn, w Work) error {
	defer w.Timeline.Begin(of.waiting)()
	return of.wait(t.ctx, t.number)
}

func (t *Ticket) finishStage(w Work) error {
	t.enter(stageFinish)
	if w.Finish == nil {
		return nil
	}
	return w.Finish(t.ctx, t)
}

// end is the one way out, for every job: whatever it still holds is handed on
// with the events at the tails of the streams that touched it, its turns
// advance, and it leaves when nothing it enqueued is running any more.
func (t *Ticket) end(err error) error {
	s := t.s
	err = s.checked(err)
	if lost := t.handOnRest(); err == nil {
		err = lost
	}
	s.claimTurn.pass(t.number)
	s.uploadTurn.pass(t.number)
	s.computeTurn.pass(t.number)

	// Not under t.ctx: a cancelled job's copies still read the caller's memory.
	drained := s.await(context.Background(), "the job's last work", watch, func() (bool, error) {
		return s.unlessLost(t.drainedLocked())
	})
	if err == nil {
		err = drained
	}
	t.cancel(nil)

	s.mem.Lock()
	defer s.mem.Unlock()
	if s.lost != nil && err != nil && !errors.Is(err, ErrDeviceLost) {
		err = fmt.Errorf("%w; the job itself: %w", s.lost, err)
	}
	delete(s.outstanding, t)
	s.claimedLocked(t)
	s.stats.ended(err)
	s.broadcastLocked()
	return err
}

// Close refuses new jobs, waits for those that run and gives all physical
// memory back.
func (s *Scheduler) Close(ctx context.Context) error {
	s.mem.Lock()
	if !s.closed {
		s.closed = true
		close(s.stopTrim)
		if len(s.loads) > 0 && s.loads[0].cancel != nil {
			s.loads[0].cancel(errClosed)
		}
		s.broadcastLocked()
	}
	s.mem.Unlock()
	err := s.await(ctx, "the running jobs", watch, func() (bool, error) {
		return len(s.outstanding) == 0 && len(s.loads) == 0 && !s.recovering, nil
	})
	if err != nil {
		return err
	}
	s.mem.Lock()
	s.ledger.EvictAll()
	lost := s.lost != nil
	s.mem.Unlock()
	if !lost { // else its memory goes with its context
		err = s.await(ctx, "the last fences", watch, func() (bool, error) {
			return s.unlessLost(s.drainedLocked())
		})
		if err == nil {
			err = s.Trim()
		}
	}
	s.background.Wait()
	if s.cfg.Neighbours != nil {
		err = errors.Join(err, s.cfg.Neighbours.Close())
	}
	return err
}
