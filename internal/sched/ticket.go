package sched

import (
	"context"
	"errors"
	"fmt"

	"github.com/libcuzk/libcuzk/internal/vram"
)

// ParamSet names the job's parameter set where a block is asked for.
const ParamSet = -1

// Mark is a recorded point in a stream, for the order of work inside a job.
type Mark = vram.Mark

// stage is how far a ticket has come.
type stage int

const (
	stageClaim stage = iota
	stageUpload
	stageCompute
	stageFinish
)

func (s stage) String() string {
	return [...]string{"claim", "upload", "compute", "finish"}[s]
}

// Ticket is a job's place among those that workers hold, and what the job
// holds. Its methods are for the functions of Work and may be called from
// several goroutines.
type Ticket struct {
	s      *Scheduler
	number uint64
	need   vram.Need
	ctx    context.Context // ends with the job's context, and when the device is lost
	cancel context.CancelCauseFunc

	drawing *drawing

	// The rest is guarded by s.mem.

	claim    *vram.Claim
	stage    stage
	blocks   []held
	set      *vram.Set      // pinned
	setUse   held           // the job's use of set; hold is nil
	resident bool           // claimed in the resident tier
	uploads  *Mark          // after the job's last copy, once it has left the upload turn
	used     streamSet      // streams on which the job enqueued anything
	last     [Streams]*Mark // the latest that was recorded for the job
	settled  bool           // all is handed on and its last marks are recorded
}

// held is a block of a ticket.
type held struct {
	hold     *vram.Hold
	handedOn bool
	touched  streamSet // streams with work on the block
	ordered  streamSet // streams that respect the block's fence
}

// streamSet is a bit for each Stream.
type streamSet uint8

func (s streamSet) has(st Stream) bool { return s>>st&1 != 0 }
func (s *streamSet) add(st Stream)     { *s |= 1 << st }

// Number is the ticket's place in the order of the device's jobs, from 0.
func (t *Ticket) Number() uint64 { return t.number }

// Resident reports whether the job was claimed in the resident tier, with the
// blocks of Need.Resident; otherwise it has those of Need.Streaming.
func (t *Ticket) Resident() bool { return t.resident }

// Block is where the i-th requested block lies, or the set for ParamSet.
func (t *Ticket) Block(i int) vram.Block {
	if i == ParamSet {
		return t.set.Block()
	}
	return t.blocks[i].hold.Block()
}

// Enqueue calls launch, which enqueues work on st that touches blocks, and
// nothing else. Before that it makes sure of the blocks' fences: on Upload
// and Tiles by waiting until they have passed, on Compute and Download by
// making the stream wait. On Compute it holds the compute lock during launch,
// which therefore must not wait, and should make at most 150 driver calls for
// the whole job.
//
// Upload is allowed in the upload turn; Compute, Tiles and Download in the
// compute turn. An error of launch is returned as it is.
func (t *Ticket) Enqueue(ctx context.Context, st Stream, launch func() error, blocks ...int) error {
	if err := t.passFences(ctx, st, blocks); err != nil {
		return err
	}
	if err := t.touch(st, blocks); err != nil {
		return err
	}
	defer t.enqueued(st)
	if st == Compute {
		launch = t.s.underComputeLock(launch)
	}
	return t.s.checked(launch())
}

// underComputeLock is f with the compute lock held, which it gives back before
// anything is made of f's error: that takes the memory lock.
func (s *Scheduler) underComputeLock(f func() error) func() error {
	return func() error {
		s.compute.Lock()
		defer s.compute.Unlock()
		return f()
	}
}

// passFences waits until the fences of blocks allow host-driven work on st.
func (t *Ticket) passFences(ctx context.Context, st Stream, blocks []int) error {
	if st == Compute || st == Download {
		return context.Cause(ctx)
	}
	return t.s.await(ctx, "a block's fence", watch, func() (bool, error) {
		for _, i := range blocks {
			for _, f := range t.beforeLocked(i) {
				if !f.Passed() {
					return false, t.s.lost
				}
			}
		}
		return true, nil
	})
}

// touch notes that st works on blocks and makes Compute and Download wait for
// the parts of their fences that lie on other streams.
func (t *Ticket) touch(st Stream, blocks []int) error {
	s := t.s
	s.mem.Lock()
	defer s.mem.Unlock()
	if s.lost != nil {
		return s.lost
	}
	t.mustAllowLocked(st)
	for _, i := range blocks {
		b := t.heldLocked(i)
		if b.handedOn {
			panic(fmt.Sprintf("BUG: sched: ticket %d uses block %d after handing it on", t.number, i))
		}
		if !b.ordered.has(st) {
			for _, f := range t.beforeLocked(i) {
				if !f.Recorded() {
					panic(fmt.Sprintf("BUG: sched: ticket %d has the compute turn before block %d was handed on", t.number, i))
				}
				for _, m := range f.Pending() {
					if err := s.orderLocked(st, m); err != nil {
						return err
					}
				}
			}
			b.ordered.add(st)
		}
		b.touched.add(st)
	}
	t.used.add(st)
	return nil
}

// mustAllowLocked panics if the stage that t is in does not own st.
func (t *Ticket) mustAllowLocked(st Stream) {
	if st == Upload && t.stage == stageUpload {
		return
	}
	if (st == Compute || st == Tiles || st == Download) && t.stage == stageCompute {
		return
	}
	panic(fmt.Sprintf("BUG: sched: ticket %d enqueues on the %v stream in its %v stage", t.number, st, t.stage))
}

// enqueued notes that the last mark of st no longer covers all of it.
func (t *Ticket) enqueued(st Stream) {
	t.s.mem.Lock()
	defer t.s.mem.Unlock()
	t.s.tail[st] = nil
}

// checked passes an error of the device on, noting if it is lost.
func (s *Scheduler) checked(err error) error {
	if err != nil && errors.Is(err, ErrDeviceLost) {
		s.mem.Lock()
		defer s.mem.Unlock()
		s.noteLocked(err)
	}
	return err
}

func (t *Ticket) heldLocked(i int) *held {
	if i == ParamSet {
		return &t.setUse
	}
	return &t.blocks[i]
}

func (t *Ticket) beforeLocked(i int) []*vram.Fence {
	if i == ParamSet {
		return t.set.Before()
	}
	return t.blocks[i].hold.Before()
}

// Record marks the tail of st, for Order and Await within the job. The stage
// must own st.
func (t *Ticket) Record(st Stream) (*Mark, error) {
	t.s.mem.Lock()
	defer t.s.mem.Unlock()
	t.mustAllowLocked(st)
	return t.markLocked(st)
}

func (t *Ticket) markLocked(st Stream) (*Mark, error) {
	m, err := t.s.markLocked(st)
	if err == nil {
		t.last[st] = m
	}
	return m, err
}

// Order makes later work on st wait for m. The stage must own st. Upload
// waits for nothing.
func (t *Ticket) Order(st Stream, m *Mark) error {
	t.s.mem.Lock()
	defer t.s.mem.Unlock()
	t.mustAllowLocked(st)
	if st == Upload {
		panic(fmt.Sprintf("BUG: sched: ticket %d makes the upload stream wait", t.number))
	}
	return t.s.orderLocked(st, m)
}

// Await returns once the work before m has completed.
func (t *Ticket) Await(ctx context.Context, m *Mark) error {
	return t.s.await(ctx, "an event", watch, func() (bool, error) { return t.s.unlessLost(m.Done) })
}

// HandOn gives blocks to whoever claims them next: their last use by this job
// has been enqueued. For use in Compute; blocks that are not handed on there
// are handed on when it returns.
func (t *Ticket) HandOn(blocks ...int) error {
	s := t.s
	s.mem.Lock()
	defer s.mem.Unlock()
	if t.stage != stageCompute {
		panic(fmt.Sprintf("BUG: sched: ticket %d hands blocks on in its %v stage", t.number, t.stage))
	}
	var err error
	for _, i := range blocks {
		err = errors.Join(err, t.handOnLocked(i))
	}
	s.broadcastLocked()
	return err
}

// handOnLocked records the fence of block i and releases it. If the fence
// cannot be recorded the block is poisoned until the device is reset.
func (t *Ticket) handOnLocked(i int) error {
	b := t.heldLocked(i)
	if b.handedOn {
		panic(fmt.Sprintf("BUG: sched: ticket %d hands block %d on twice", t.number, i))
	}
	b.handedOn = true
	marks, err := t.fenceLocked(b.touched)
	if err != nil {
		t.s.ledger.Poison(b.hold)
		return err
	}
	t.s.ledger.HandOn(b.hold, marks)
	return nil
}

// fenceLocked is one mark for each stream that touched a block. The job's
// copies ended with its upload turn; later ones on that stream are not its.
func (t *Ticket) fenceLocked(touched streamSet) ([]*Mark, error) {
	var marks []*Mark
	for st := range Streams {
		if !touched.has(st) {
			continue
		}
		m := t.uploads
		if st != Upload || m == nil {
			var err error
			if m, err = t.markLocked(st); err != nil {
				return nil, err
			}
		}
		marks = append(marks, m)
	}
	return marks, nil
}

// handOnRest hands on all that t still holds, once. It is called while t has
// the turn of every stream whose tail it records.
func (t *Ticket) handOnRest() error {
	s := t.s
	s.mem.Lock()
	defer s.mem.Unlock()
	if t.settled {
		return nil
	}
	t.settled = true
	var err error
	for i := range t.blocks {
		if !t.blocks[i].handedOn {
			err = errors.Join(err, t.handOnLocked(i))
		}
	}
	if t.set != nil {
		err = errors.Join(err, t.unpinLocked())
	}
	// Work that touched no block has to end too before the job does.
	if _, tailErr := t.fenceLocked(t.used); tailErr != nil {
		err = errors.Join(err, tailErr)
	}
	s.broadcastLocked()
	return err
}

// unpinLocked ends t's use of its parameter set, taking every stream that the
// job used for one that read the set.
func (t *Ticket) unpinLocked() error {
	use := &vram.Fence{}
	marks, err := t.fenceLocked(t.used)
	if err != nil {
		use.Poison()
	} else {
		use.Record(marks)
	}
	t.s.ledger.Unpin(t.set, use)
	t.set = nil
	t.setUse.handedOn = true
	return err
}

// takeLocked notes what the ledger gave t.
func (t *Ticket) takeLocked(c *vram.Claim) {
	t.claim = c
	t.set = c.Set
	t.resident = c.Set != nil || t.need.Set == nil
	t.blocks = make([]held, len(c.Blocks))
	for i, h := range c.Blocks {
		t.blocks[i].hold = h
	}
}

// unclaimLocked undoes takeLocked for a claim that was never used.
func (t *Ticket) unclaimLocked() {
	t.s.ledger.Unclaim(t.claim)
	t.claim, t.set, t.blocks = nil, nil, nil
}

// rangesLocked are the address ranges that t uses.
func (t *Ticket) rangesLocked() []vram.Block {
	var out []vram.Block
	for i := range t.blocks {
		out = append(out, t.Block(i))
	}
	if t.set != nil {
		out = append(out, t.set.Block())
	}
	return out
}

// enter moves t to its next stage.
func (t *Ticket) enter(st stage) {
	t.s.mem.Lock()
	defer t.s.mem.Unlock()
	t.stage = st
}

// uploaded records the job's upload event.
func (t *Ticket) uploaded() error {
	t.s.mem.Lock()
	defer t.s.mem.Unlock()
	if t.used.has(Upload) {
		m, err := t.markLocked(Upload)
		if err != nil {
			return err
		}
		t.uploads = m
	}
	return nil
}

// yield enters the compute turn: kernels wait for the copies, and the next
// ticket may claim blocks behind this one.
func (t *Ticket) yield() error {
	s := t.s
	s.mem.Lock()
	defer s.mem.Unlock()
	t.stage = stageCompute
	for i := range t.blocks {
		s.ledger.Yield(t.blocks[i].hold)
	}
	s.broadcastLocked()
	if t.uploads == nil {
		return s.lost
	}
	return s.orderLocked(Compute, t.uploads)
}

func (t *Ticket) drainedLocked() bool {
	for _, m := range t.last {
		if m != nil && !m.Done {
			return false
		}
	}
	return true
}
