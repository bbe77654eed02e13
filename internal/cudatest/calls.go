package cudatest

import (
	"github.com/libcuzk/libcuzk/cuda/driver"
	"github.com/libcuzk/libcuzk/internal/launch"
)

// Enqueue starts launches on the rig's stream, with what they declare.
func (r *Rig) Enqueue(b *driver.Bound, calls ...launch.Call) error {
	for _, call := range calls {
		f, err := b.FunctionIn(r.modules, call.Kernel.Name)
		if err != nil {
			return err
		}
		if err := b.Start(call.On(r.Stream, f), call.Args); err != nil {
			return err
		}
	}
	return nil
}

// Launch enqueues launches and waits for them.
func (r *Rig) Launch(calls ...launch.Call) {
	r.T.Helper()
	r.Do(func(b *driver.Bound) error {
		if err := r.Enqueue(b, calls...); err != nil {
			return err
		}
		return b.Synchronize(r.Stream)
	})
}
