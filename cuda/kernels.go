package cuda

import (
	"errors"
	"fmt"
	"slices"

	"github.com/libcuzk/libcuzk/cuda/driver"
	"github.com/libcuzk/libcuzk/cuda/image"
	"github.com/libcuzk/libcuzk/cuda/kernels"
	"github.com/libcuzk/libcuzk/internal/launch"
)

// kernelTable holds the kernels of one context.
type kernelTable struct {
	modules   []*driver.Module // in the order of kernels.Names
	functions map[*launch.Kernel]driver.Function
	timer     *kernelTimer // nil: kernels are not timed
	local     uint64       // bytes of local memory that a thread takes at most
}

// loadKernels loads every image, looks every kernel up and loads its code.
func loadKernels(b *driver.Bound, set *image.Set) (*kernelTable, error) {
	k := &kernelTable{functions: map[*launch.Kernel]driver.Function{}}
	byImage := map[string]*driver.Module{}
	for i, data := range set.Images {
		m, err := b.LoadModule(data)
		if err != nil {
			return nil, fmt.Errorf("kernel image %s from %s: %w", kernels.Names[i], set.Origin, err)
		}
		k.modules = append(k.modules, m)
		byImage[kernels.Names[i]] = m
	}
	for _, kernel := range launch.Kernels() {
		m, ok := byImage[kernel.Image]
		if !ok {
			return nil, fmt.Errorf("BUG: cuda: kernel %s is in image %s, which is not among %v", kernel.Name, kernel.Image, kernels.Names)
		}
		f, err := b.Function(m, kernel.Name)
		if err != nil {
			return nil, fmt.Errorf("kernel image %s from %s: %w", kernel.Image, set.Origin, err)
		}
		k.functions[kernel] = f
		local, err := b.LoadFunction(f, kernel.Name)
		if err != nil {
			return nil, fmt.Errorf("kernel image %s from %s: %w", kernel.Image, set.Origin, err)
		}
		k.local = max(k.local, local)
	}
	return k, nil
}

// unload gives the images back; nothing enqueued may still use them. What the
// driver refuses to take back stays for another call.
func (k *kernelTable) unload(b *driver.Bound) error {
	var failed error
	k.modules = slices.DeleteFunc(k.modules, func(m *driver.Module) bool {
		err := b.UnloadModule(m)
		failed = errors.Join(failed, err)
		return err == nil
	})
	return failed
}

// enqueue starts calls on a stream.
func (k *kernelTable) enqueue(b *driver.Bound, s driver.Stream, calls []launch.Call) error {
	var touches []driver.Range
	for _, c := range calls {
		if err := k.timer.mark(b, s, c.Kernel.Name); err != nil {
			return err
		}
		touches = touches[:0]
		for _, a := range c.Access {
			touches = append(touches, driver.Range{
				Base: driver.DevicePtr(a.Addr), Bytes: a.Bytes, Mode: driver.Access(a.Mode),
			})
		}
		err := b.Start(driver.Launch{
			Function: k.functions[c.Kernel],
			Name:     c.Kernel.Name,
			Grid:     driver.Dim3{X: c.GridX, Y: c.GridY},
			Block:    driver.Dim3{X: c.Kernel.Threads},
			Stream:   s,
			Touches:  touches,
		}, c.Args)
		if driver.Of(err, driver.CauseDeviceMemory) {
			return launchMemory(b, err)
		}
		if err != nil {
			return err
		}
	}
	return k.timer.mark(b, s, "")
}
