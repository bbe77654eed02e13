package cuda

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/libcuzk/libcuzk/cuda/driver"
	"github.com/libcuzk/libcuzk/cuda/image"
	"github.com/libcuzk/libcuzk/cuda/internal/devcontext"
	"github.com/libcuzk/libcuzk/engine/backend"
	"github.com/libcuzk/libcuzk/internal/sentinel"
	"github.com/libcuzk/libcuzk/internal/vram"
)

const (
	// askOpening is how long one call of Open asks other processes for memory:
	// whoever waits for it may want to give up.
	askOpening = time.Second
	// retryOpening is how long it waits before it tries again. An attempt that
	// gets as far as a context takes 0.2 s.
	retryOpening = 50 * time.Millisecond
)

// openPatiently opens a card, asking the other processes of this library for
// memory if there is too little and it may wait.
func openPatiently(card *driver.Device, images *image.Set, options Options) (backend.Device, error) {
	d, err := openDevice(card, images, options)
	if err == nil {
		return d, nil
	}
	if !isDeviceMemory(err) {
		return nil, err
	}
	if options.MemoryWait > 0 {
		if d, askErr := openAsking(card, images, options); d != nil || askErr != nil {
			return d, askErr
		}
	}
	return nil, &backend.BusyError{Wait: options.MemoryWait, Err: fmt.Errorf(
		"%w; to be opened %s needs %d bytes, and others hold too much of its %d bytes", err, card.String(), leastFree(card), card.Bytes)}
}

// leastFree is what a card must have free to be opened: the context, fixed
// buffers, and anything at all to work with.
func leastFree(card *driver.Device) uint64 { return devcontext.FixedOn(card) + vram.Granule }

// ErrFull is returned by Open for a card whose memory is in other hands but for our context.
var ErrFull = sentinel.New(backend.ErrDeviceMemory, "cuda: nothing is free on the card")

// enough refuses to plan with what is free if that is nothing.
func enough(free uint64, card *driver.Device) error {
	if free < vram.Granule {
		return fmt.Errorf("%w: %d of %d bytes on %s", ErrFull, free, card.Bytes, card.String())
	}
	return nil
}

// openAsking is nil and no error if others keep what they hold.
func openAsking(card *driver.Device, images *image.Set, options Options) (backend.Device, error) {
	ctx, stop := context.WithTimeout(context.Background(), min(askOpening, options.MemoryWait))
	defer stop()
	if n := neighboursOf(card.UUID); n != nil {
		defer func() { _ = n.Close() }() // it lets go of the lock, whatever it says
		release, err := n.Ask(ctx)
		defer release()
		if err != nil && ctx.Err() == nil {
			return nil, err
		}
	}
	for ctx.Err() == nil {
		d, err := openDevice(card, images, options)
		switch {
		case err == nil:
			return d, nil
		case !isDeviceMemory(err):
			return nil, err
		}
		select {
		case <-time.After(retryOpening):
		case <-ctx.Done():
		}
	}
	return nil, nil
}

// budgetText says, after a refusal, where a budget comes from that nothing sets.
func (d *device) budgetText() string {
	switch {
	case d.options.budget(d.card.Bytes) != 0:
		return ""
	case d.options.MemoryWait > 0:
		return "; no budget is set, so it is the whole card less a reserve"
	}
	return "; no budget is set, so it is what was free when the card was opened, less a reserve" + d.current.Load().FreeText()
}

// isDeviceMemory reports whether err says that the card has too little memory
// left.
func isDeviceMemory(err error) bool {
	return errors.Is(err, ErrFull) || driver.Of(err, driver.CauseDeviceMemory)
}
