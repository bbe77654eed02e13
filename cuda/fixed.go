package cuda

import (
	"github.com/libcuzk/libcuzk/cuda/driver"
	"github.com/libcuzk/libcuzk/cuda/internal/plan"
	"github.com/libcuzk/libcuzk/cuda/internal/staging"
	"github.com/libcuzk/libcuzk/internal/launch"
	"github.com/libcuzk/libcuzk/internal/vram"
)

// A driver takes memory of the card by itself, at the first launch of a kernel:
// for its code, and for the local memory of all threads that the card can hold
// at once, where the kernel's are larger than any before. Once jobs run it may
// find that another process has taken the rest of the card. So both are taken
// when the card is opened.
const (
	// contextBytes is what a context takes of the card, with our kernels' code.
	// Measured on an H200 with driver 580: 532 MiB before all code was loaded.
	contextBytes = 536 << 20

	// sessionBytes is what a session keeps on the device for good: the decode
	// buffers, tables for every domain up to maxTableLog (8.1 MiB in all, of which
	// they share 8), and the decode status of a load (1.25 KiB).
	sessionBytes = loadSlots*staging.SlotBytes + 10<<20

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
