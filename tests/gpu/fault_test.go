package gpu

import (
	"context"
	"os"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/cuda"
	"github.com/libcuzk/libcuzk/cuda/driver"
	"github.com/libcuzk/libcuzk/cuda/image"
	"github.com/libcuzk/libcuzk/engine/backend"
	"github.com/libcuzk/libcuzk/engine/groth16"
	"github.com/libcuzk/libcuzk/internal/cudatest"
	"github.com/libcuzk/libcuzk/tests/cudasim"
)

// watched is a CUDA provider whose devices a test can break.
type watched struct {
	*cuda.Provider
	devices  [mostCards]atomic.Pointer[watchedDevice] // by ordinal, as opened last
	rowsRead atomic.Pointer[func(*backend.Partition)] // called after a partition's RowsRead; nil: nothing
}

func (w *watched) Open(ordinal int) (backend.Device, error) {
	d, err := w.Provider.Open(ordinal)
	if err != nil {
		return nil, err
	}
	of := &watchedDevice{d, w}
	w.devices[ordinal].Store(of)
	return of, nil
}

type watchedDevice struct {
	backend.Device
	provider *watched
}

func (d *watchedDevice) Stats() backend.Stats { return d.Device.(backend.Reporter).Stats() }

func (d *watchedDevice) Prove(ctx context.Context, t *backend.Partition) (*groth16.Sums, error) {
	told := *t
	told.RowsRead = func() {
		t.RowsRead()
		if f := d.provider.rowsRead.Load(); f != nil {
			(*f)(t)
		}
	}
	return d.Device.Prove(ctx, &told)
}

// context is the engine's own on a card.
func (w *watched) context(card int) *driver.Context {
	return w.devices[card].Load().Device.(interface{ Context() *driver.Context }).Context()
}

// mostCards is how many cards a machine may have here.
const mostCards = 16

// fault is a way to break a context. The number is the kernel's.
type fault struct {
	name   string
	number uint32
	code   driver.Result // what the simulator gives
}

var faults = []fault{
	{"illegal address", 0, 700},
	{"misaligned address", 1, 716},
	{"assertion", 2, 710},
	{"trap", 3, 719},
}

// faultArguments is Arguments in fault/fault.cu.
type faultArguments struct {
	memory       driver.DevicePtr
	kind, unused uint32
}

const (
	faultKernel = "cuzk_fault"
	// faultImageVariable names the image of fault/fault.cu.
	faultImageVariable = "CUZK_FAULT_IMAGE"
	faultBytes         = 16
)

// strike breaks the engine's context on the first card and returns what its
// driver then says.
func (r *rig) strike(f fault) error {
	r.t.Helper()
	thread, err := r.gpu.context(0).NewThread()
	require.NoError(r.t, err)
	if r.sim != nil {
		r.sim.Fault(cudasim.Fault{Call: "cuCtxSynchronize", Nth: 1, Code: int(f.code), Sticky: true})
		return thread.Do((*driver.Bound).SynchronizeDeviceWide)
	}
	data, err := os.ReadFile(os.Getenv(faultImageVariable))
	require.NoError(r.t, err, "%s names the image of fault/fault.cu", faultImageVariable)
	return thread.Do(func(b *driver.Bound) error { return launchFault(b, data, f.number) })
}

// launchFault runs the kernel on a stream of its own.
func launchFault(b *driver.Bound, data []byte, kind uint32) error {
	module, err := b.LoadModule(data)
	if err != nil {
		return err
	}
	function, err := b.Function(module, faultKernel)
	if err != nil {
		return err
	}
	stream, err := b.NewStream()
	if err != nil {
		return err
	}
	memory, err := b.MemAlloc(faultBytes)
	if err != nil {
		return err
	}
	if err := b.Fill(memory, 0, faultBytes, stream); err != nil {
		return err
	}
	arguments := &faultArguments{memory: memory, kind: kind}
	l := driver.Launch{Function: function, Name: faultKernel, Stream: stream, Grid: driver.Dim3{X: 1}, Block: driver.Dim3{X: 1}}
	// SAFETY: the view has the size of the struct, which holds no Go pointers.
	bytes := unsafe.Slice((*byte)(unsafe.Pointer(arguments)), unsafe.Sizeof(*arguments))
	if err := b.Start(l, bytes); err != nil {
		return err
	}
	return b.Synchronize(stream)
}

// No image of the library has the kernel that breaks a context.
func TestTheFaultKernelIsNotShipped(t *testing.T) {
	if !onCard() {
		cudasim.New(t, cudasim.Config{})
	}
	set, err := image.Find()
	require.NoError(t, err)
	require.NotEmpty(t, set.Images)
	c := cudatest.Open(t)
	for name, data := range set.Images {
		assert.NotEqual(t, "fault", name)
		c.Do(func(b *driver.Bound) error {
			m, err := b.LoadModule(data)
			if err != nil {
				return err
			}
			_, err = b.Function(m, faultKernel)
			assert.True(t, driver.Is(err, driver.ErrorNotFound), "image %s: %v", name, err)
			return b.UnloadModule(m)
		})
	}
}
