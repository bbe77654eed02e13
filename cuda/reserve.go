package cuda

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/libcuzk/libcuzk/cuda/driver"
	"github.com/libcuzk/libcuzk/cuda/internal/plan"
	"github.com/libcuzk/libcuzk/cuda/internal/staging"
	"github.com/libcuzk/libcuzk/internal/launch"
	"github.com/libcuzk/libcuzk/internal/sched"
	"github.com/libcuzk/libcuzk/internal/vram"
)

// A driver takes memory of the card by itself, at the first launch of a kernel:
// for its code, and for the local memory of all threads that the card can hold
// at once, where the kernel's are larger than any before. Once jobs run it may
// find that another process has taken the rest of the card. So both are taken
// when the card is opened.
const (
	// contextLocalBytes is the local memory of a thread that a context begins
	// with, in contextBytes: the default of CU_LIMIT_STACK_SIZE.
	contextLocalBytes = 1024

	// localBytes is what is reserved for a thread. The kernels take up to 1,432
	// (cuzk_msm_g2_reduce on sm_90, by nvcc -Xptxas -v; the next largest takes
	// 472); the rest is room for other architectures and what a driver adds.
	localBytes = 1536

	// maxTableLog is the largest domain, as a power of two, for whose twiddles
	// a session has memory from the start. Larger ones get it when they come.
	maxTableLog = 28
)

// localOn is what local memory of so many bytes a thread takes of a card, beside
// what is in contextBytes already: all threads that can be resident have theirs.
// Source: CUDA driver API, CU_CTX_LMEM_RESIZE_TO_MAX and cuCtxSetLimit.
func localOn(card *driver.Device, perThread uint64) uint64 {
	threads := uint64(card.Multiprocessors) * uint64(card.ThreadsPerSM)
	bytes := (max(perThread, contextLocalBytes) - contextLocalBytes) * threads
	return (bytes + vram.Granule - 1) / vram.Granule * vram.Granule
}

// fixedOn is what a card's memory is used for while it is open, whatever runs.
func fixedOn(card *driver.Device) uint64 {
	return contextBytes + sessionBytes + localOn(card, localBytes)
}

// fixed is fixedOn with what the driver has taken for local memory.
func (s *session) fixed() uint64 {
	return contextBytes + sessionBytes + localOn(s.context.Device(), s.local)
}

// reserve has the driver take local memory for every kernel. A driver that
// refuses for other reasons than memory may still run them.
func (s *session) reserve(b *driver.Bound) error {
	s.local = max(localBytes, s.kernels.local)
	has, err := b.ReserveLocal(s.local)
	if driver.Of(err, driver.CauseDeviceMemory) || driver.Lost(err) {
		return err
	}
	s.local = max(s.local, has)
	return nil
}

// tableAt is where the twiddles of a domain lie in the memory of a session, in
// part those of all domains; and none for a domain too large.
func (s *session) tableAt(logSize uint32) launch.Range {
	if logSize > maxTableLog {
		return launch.Range{}
	}
	return launch.Range{Addr: uint64(s.decode) + loadSlots*staging.SlotBytes, Bytes: launch.TableBytes(logSize)}
}

// statusAt is where the device says, for each section of the set that is being
// loaded, which points are not valid.
func (s *session) statusAt() launch.Range {
	return launch.Range{
		Addr:  uint64(s.decode) + loadSlots*staging.SlotBytes + launch.TableBytes(maxTableLog),
		Bytes: uint64(len(plan.AllSections)) * plan.SectionStatusBytes,
	}
}

// plansWithWhatIsFree reports whether the budget is what is free on the card when
// it is opened.
func (o Options) plansWithWhatIsFree(card *driver.Device) bool {
	return o.budget(card.Bytes) == 0 && o.MemoryWait == 0
}

// jobBudget is what jobs and parameter sets may take of a card beside the fixed
// parts: of the budget that is set, or else of the whole card, less the reserve.
// It refuses where that leaves nothing to work with.
func (o Options) jobBudget(card *driver.Device, fixed uint64) (uint64, error) {
	given := o.budget(card.Bytes)
	of, text := given, fmt.Sprintf("%d bytes on %s", given, card.String())
	if given == 0 {
		of, text = card.Bytes, fmt.Sprintf("all the %d bytes of %s", card.Bytes, card.String())
	}
	left := of - min(of, fixed)
	if given == 0 {
		left = lessReserve(left)
	}
	if left < vram.Granule {
		return 0, fmt.Errorf("%w: %s; the context and fixed buffers take %d bytes and a job at least %d more",
			ErrBudget, text, fixed, uint64(vram.Granule))
	}
	return left, nil
}

// lessReserve leaves others their share.
func lessReserve(bytes uint64) uint64 { return bytes - bytes/reserveShare }

// freeNow is what is free on the card now, less the reserve, and at most most. It
// refuses to plan with that if it is nothing.
func (s *session) freeNow(most uint64) (budget uint64, err error) {
	err = s.watch.Do(func(b *driver.Bound) error {
		free, _, err := b.MemInfo()
		budget = min(lessReserve(free), most)
		return err
	})
	if err != nil {
		return 0, err
	}
	return budget, enough(budget, s.context.Device())
}

// errLaunchMemory is for a launch that the driver had no memory for, in spite
// of the reserve. The context goes on: nothing of the launch has happened.
var errLaunchMemory = fmt.Errorf("%w: for a kernel's first launch", sched.ErrNoMemory)

// retryLaunch is how long a job waits before it runs again after such a launch:
// others may let go of memory meanwhile. What it had uploaded is uploaded again.
const retryLaunch = 100 * time.Millisecond

func launchMemory(b *driver.Bound, err error) error {
	free, total, failed := b.MemInfo()
	if failed != nil {
		return errors.Join(err, failed)
	}
	return fmt.Errorf("%w: %w; %d of the card's %d bytes are free, which others hold or this process's budget takes: "+
		"wait for them, or give each process a lower budget (CUZK_VRAM_BUDGET)", errLaunchMemory, err, free, total)
}

// withMemory runs a job, and again as long as a launch finds no memory, jobs may
// wait for some, and again says that the job's memory may still be read. What
// is mapped and nobody works on is given back before.
func (d *device) withMemory(ctx context.Context, again func() bool, do func() error) error {
	begin := time.Now()
	for {
		err := do()
		if !errors.Is(err, errLaunchMemory) {
			return err
		}
		if time.Since(begin) >= d.options.MemoryWait || !again() {
			return fmt.Errorf("%w; the budget of %s is %d bytes, and the job may wait %v",
				err, d.card.String(), d.Stats().BudgetBytes, d.options.MemoryWait)
		}
		if failed := d.jobs.Trim(); failed != nil {
			return errors.Join(err, failed)
		}
		select {
		case <-time.After(retryLaunch):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
