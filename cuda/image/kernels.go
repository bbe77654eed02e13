package image

import (
	"errors"
	"fmt"

	"github.com/libcuzk/libcuzk/cuda/driver"
	"github.com/libcuzk/libcuzk/internal/launch"
)

// Kernels are kernels in one context, ready to be enqueued.
type Kernels struct {
	modules   map[string]*driver.Module // by image
	functions map[*launch.Kernel]driver.Function
}

// Open opens the images that hold the kernels, and looks each kernel up. After
// an error what is open stays so until the context is destroyed.
func (s *Set) Open(b *driver.Bound, kernels []*launch.Kernel) (*Kernels, error) {
	k := &Kernels{map[string]*driver.Module{}, map[*launch.Kernel]driver.Function{}}
	for _, kernel := range kernels {
		if err := s.add(b, k, kernel); err != nil {
			return nil, fmt.Errorf("kernel image %s from %s: %w", kernel.Image, s.Origin, err)
		}
	}
	return k, nil
}

func (s *Set) add(b *driver.Bound, k *Kernels, kernel *launch.Kernel) (err error) {
	m := k.modules[kernel.Image]
	if m == nil {
		data := s.Images[kernel.Image]
		if data == nil {
			return fmt.Errorf("BUG: cuda: kernel %s is in an image that is not built", kernel.Name)
		}
		if m, err = b.LoadModule(data); err != nil {
			return err
		}
		k.modules[kernel.Image] = m
	}
	k.functions[kernel], err = b.Function(m, kernel.Name)
	return err
}

// Function is a kernel in this context.
func (k *Kernels) Function(kernel *launch.Kernel) driver.Function { return k.functions[kernel] }

// Start enqueues a call on a stream.
func (k *Kernels) Start(b *driver.Bound, stream driver.Stream, c launch.Call) error {
	return b.Start(c.On(stream, k.functions[c.Kernel]), c.Args)
}

// Close closes the images; nothing enqueued may still use them. What the driver
// refuses to take back stays for another call.
func (k *Kernels) Close(b *driver.Bound) error {
	var failed error
	for name, m := range k.modules {
		err := b.UnloadModule(m)
		if err == nil {
			delete(k.modules, name)
		}
		failed = errors.Join(failed, err)
	}
	return failed
}
