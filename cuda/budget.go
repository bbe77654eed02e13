package cuda

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/libcuzk/libcuzk/cuda/driver"
	"github.com/libcuzk/libcuzk/cuda/internal/devcontext"
	"github.com/libcuzk/libcuzk/internal/vram"
)

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
func freeNow(s *devcontext.Context, most uint64) (budget uint64, err error) {
	err = s.Watch.Do(func(b *driver.Bound) error {
		free, _, err := b.MemInfo()
		budget = min(lessReserve(free), most)
		return err
	})
	if err != nil {
		return 0, err
	}
	return budget, enough(budget, s.Driver.Device())
}

// retryLaunch is how long a job waits before it runs again after such a launch:
// others may let go of memory meanwhile. What it had uploaded is uploaded again.
const retryLaunch = 100 * time.Millisecond

// withMemory runs a job, and again as long as a launch finds no memory, jobs may
// wait for some, and again says that the job's memory may still be read. What
// is mapped and nobody works on is given back before.
func (d *device) withMemory(ctx context.Context, again func() bool, do func() error) error {
	begin := time.Now()
	for {
		err := do()
		if !errors.Is(err, devcontext.ErrLaunchMemory) {
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
