package cudatest

import (
	"github.com/libcuzk/libcuzk/cuda/driver"
	"github.com/libcuzk/libcuzk/internal/launch"
)

// Enqueue starts launches on the card's stream, with what they declare.
func (c *Card) Enqueue(b *driver.Bound, calls ...launch.Call) error {
	for _, call := range calls {
		f, err := b.FunctionIn(c.modules, call.Kernel.Name)
		if err != nil {
			return err
		}
		l := driver.Launch{
			Function: f, Name: call.Kernel.Name, Stream: c.Stream,
			Grid:  driver.Dim3{X: call.GridX, Y: call.GridY},
			Block: driver.Dim3{X: call.Kernel.Threads},
		}
		for _, a := range call.Access {
			l.Touches = append(l.Touches, driver.Range{
				Base: driver.DevicePtr(a.Addr), Bytes: a.Bytes, Mode: driver.Access(a.Mode),
			})
		}
		if err := b.Start(l, call.Args); err != nil {
			return err
		}
	}
	return nil
}

// Launch enqueues launches and waits for them.
func (c *Card) Launch(calls ...launch.Call) {
	c.T.Helper()
	c.Do(func(b *driver.Bound) error {
		if err := c.Enqueue(b, calls...); err != nil {
			return err
		}
		return b.Synchronize(c.Stream)
	})
}
