package devcontext

import (
	"github.com/libcuzk/libcuzk/cuda/driver"
	"github.com/libcuzk/libcuzk/cuda/internal/plan"
	"github.com/libcuzk/libcuzk/cuda/internal/staging"
	"github.com/libcuzk/libcuzk/internal/launch"
	"github.com/libcuzk/libcuzk/internal/vram"
)

// A driver takes memory of the device by itself, at the first launch of a kernel:
// for its code, and for the local memory of all threads that the device can hold
// at once, where the kernel's are larger than any before. Once jobs run it may
// find that another process has taken the rest of the device. So both are taken
// when the device is opened.
const (
	// contextBytes is what a context takes of the device, with our kernels' code.
	// Measured on an H200 with driver 580: 532 MiB before all code was loaded.
	contextBytes = 536 << 20

	// KeptBytes is what a context keeps on the device for good: the decode
	// buffers, and tables for every domain up to maxTableLog (8.1 MiB in all, of
	// which they share 8), and the decode status of a load (1.25 KiB).
	KeptBytes = LoadSlots*staging.SlotBytes + 10<<20

	// ContextLocalBytes is the local memory of a thread that a context begins
	// with, in contextBytes: the default of CU_LIMIT_STACK_SIZE.
	ContextLocalBytes = 1024

	// LocalBytes is what is reserved for a thread. The kernels take up to 1,432
	// (cuzk_msm_g2_reduce on sm_90, by nvcc -Xptxas -v; the next largest takes
	// 472); the rest is room for other architectures and what a driver adds.
	LocalBytes = 1536

	// MaxTableLog is the largest domain, as a power of two, for whose twiddles
	// a context has memory from the start. Larger ones get it when they come.
	MaxTableLog = 28
)

// LocalOn is what local memory of so many bytes a thread takes of a device, beside
// what is in contextBytes already: all threads that can be resident have theirs.
// Source: CUDA driver API, CU_CTX_LMEM_RESIZE_TO_MAX and cuCtxSetLimit.
func LocalOn(dev *driver.Device, perThread uint64) uint64 {
	threads := uint64(dev.Multiprocessors) * uint64(dev.ThreadsPerSM)
	bytes := (max(perThread, ContextLocalBytes) - ContextLocalBytes) * threads
	return (bytes + vram.Granule - 1) / vram.Granule * vram.Granule
}

// FixedOn is what a device's memory is used for while it is open, whatever runs.
func FixedOn(dev *driver.Device) uint64 {
	return contextBytes + KeptBytes + LocalOn(dev, LocalBytes)
}

// FixedBytes is FixedOn with what the driver has taken for local memory.
func (s *Context) FixedBytes() uint64 {
	return contextBytes + KeptBytes + LocalOn(s.Driver.Device(), s.local)
}

// reserve has the driver take local memory for every kernel. A driver that
// refuses for other reasons than memory may still run them.
func (s *Context) reserve(b *driver.Bound) error {
	s.local = max(LocalBytes, s.Kernels.local)
	has, err := b.ReserveLocal(s.local)
	if driver.Of(err, driver.CauseDeviceMemory) || driver.Lost(err) {
		return err
	}
	s.local = max(s.local, has)
	return nil
}

// TableAt is where the twiddles of a domain lie in the memory of a context, in
// part those of all domains; and none for a domain too large.
func (s *Context) TableAt(logSize uint32) launch.Range {
	if logSize > MaxTableLog {
		return launch.Range{}
	}
	return launch.Range{Addr: uint64(s.Decode) + LoadSlots*staging.SlotBytes, Bytes: launch.TableBytes(logSize)}
}

// StatusAt is where the device says, for each section of the set that is being
// loaded, which points are not valid.
func (s *Context) StatusAt() launch.Range {
	return launch.Range{
		Addr:  uint64(s.Decode) + LoadSlots*staging.SlotBytes + launch.TableBytes(MaxTableLog),
		Bytes: uint64(len(plan.AllSections)) * plan.SectionStatusBytes,
	}
}
