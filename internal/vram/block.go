package vram

import (
	"fmt"
	"math/bits"

	"github.com/libcuzk/libcuzk/internal/sentinel"
)

// Granule is what the driver maps physical memory in: 2 MiB, as measured on
// the H200. Parameter sets begin at multiples of it and take whole ones.
const Granule = 2 << 20

// blockAlign is the alignment of every block in bytes: eight field elements
// of 32 bytes, so that a warp's 16-byte accesses never straddle a block.
const blockAlign = 256

// Block is a piece of a device's address range.
type Block struct {
	Offset, Bytes uint64
}

// End is the offset of the first byte after b.
func (b Block) End() uint64 { return b.Offset + b.Bytes }

// Request asks for one block of a job.
type Request struct {
	// Bytes is the least that is needed; more than 0.
	Bytes uint64
	// Exact rounds up to 256 bytes only, for scratch that would waste up to
	// half of a power of two. Otherwise the block is a power of two times 32
	// bytes, aligned to its own size, so that jobs of different domains leave
	// no gaps that the next one cannot use.
	Exact bool
	// Late orders a job's blocks by when it hands them on, the earliest first.
	// It is a hint: the next job, when it claims behind this one, gets what
	// it copies into from the blocks that come back first.
	Late uint8
}

// size is what the ledger sets aside for r.
func (r Request) size() uint64 {
	if r.Exact {
		return roundUp(r.Bytes, blockAlign)
	}
	return max(blockAlign, uint64(1)<<bits.Len64(r.Bytes-1))
}

// align is the alignment of r's block.
func (r Request) align() uint64 {
	if r.Exact {
		return blockAlign
	}
	return r.size()
}

// Need is what one job claims, all in one step.
type Need struct {
	// Resident are the blocks of a job whose parameter set lies in VRAM, or
	// that needs none.
	Resident []Request
	// Streaming are the blocks of a partition whose parameter set crosses the bus
	// behind the kernels. Nil means that the partition cannot stream: it waits
	// until its set is loaded.
	Streaming []Request
	// Set is the parameter set, nil for none. With a Set, leaving Resident
	// nil means that the partition always streams.
	Set *Set
}

// TooLargeError refuses a job that would not fit an empty device.
type TooLargeError struct {
	NeedBytes   uint64 // the job's peak in the tier that needs least
	BudgetBytes uint64 // what there is when nothing else is on the device
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("vram: job needs %d bytes (%.2f GiB) of device memory at its peak, the budget is %d bytes (%.2f GiB)",
		e.NeedBytes, gib(e.NeedBytes), e.BudgetBytes, gib(e.BudgetBytes))
}

// Unwrap is the kind of the error.
func (e *TooLargeError) Unwrap() error { return sentinel.ErrDeviceMemory }

func gib(bytes uint64) float64 { return float64(bytes) / (1 << 30) }

// roundUp rounds n up to a multiple of to, a power of two.
func roundUp(n, to uint64) uint64 { return (n + to - 1) &^ (to - 1) }

// roundDown rounds n down to a multiple of to, a power of two.
func roundDown(n, to uint64) uint64 { return n &^ (to - 1) }
