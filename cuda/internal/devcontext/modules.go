package devcontext

import (
	"errors"
	"fmt"

	"github.com/libcuzk/libcuzk/cuda/driver"
	"github.com/libcuzk/libcuzk/cuda/image"
	"github.com/libcuzk/libcuzk/internal/launch"
	"github.com/libcuzk/libcuzk/internal/sched"
)

// Modules holds the kernels of one context.
type Modules struct {
	*image.Kernels
	Timer *Timer // nil: kernels are not timed
	local uint64 // bytes of local memory that a thread takes at most
}

// loadKernels opens every image, looks every kernel up and loads its code.
func loadKernels(b *driver.Bound, set *image.Set) (*Modules, error) {
	opened, err := set.Open(b, launch.Kernels())
	if err != nil {
		return nil, err
	}
	k := &Modules{Kernels: opened}
	for _, kernel := range launch.Kernels() {
		local, err := b.LoadFunction(opened.Function(kernel), kernel.Name)
		if err != nil {
			return nil, fmt.Errorf("kernel image %s from %s: %w", kernel.Image, set.Origin, err)
		}
		k.local = max(k.local, local)
	}
	return k, nil
}

// Enqueue starts calls on a stream.
func (k *Modules) Enqueue(b *driver.Bound, s driver.Stream, calls []launch.Call) error {
	for _, c := range calls {
		if err := k.Timer.mark(b, s, c.Kernel.Name); err != nil {
			return err
		}
		err := k.Start(b, s, c)
		if driver.Of(err, driver.CauseDeviceMemory) {
			return launchMemory(b, err)
		}
		if err != nil {
			return err
		}
	}
	return k.Timer.mark(b, s, "")
}

// ErrLaunchMemory is for a launch that the driver had no memory for, in spite
// of the reserve. The context goes on: nothing of the launch has happened.
var ErrLaunchMemory = fmt.Errorf("%w: for a kernel's first launch", sched.ErrNoMemory)

func launchMemory(b *driver.Bound, err error) error {
	free, total, failed := b.MemInfo()
	if failed != nil {
		return errors.Join(err, failed)
	}
	return fmt.Errorf("%w: %w; %d of the GPU's %d bytes are free, which others hold or this process's budget takes: "+
		"wait for them, or give each process a lower budget (CUZK_VRAM_BUDGET)", ErrLaunchMemory, err, free, total)
}
