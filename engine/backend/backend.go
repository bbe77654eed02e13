// Package backend is the seam between the engine and what computes: the CPU,
// or a GPU. It holds two interfaces, Provider and Device, the plain types that
// cross them, and the kinds of errors that devices return.
//
// It is for programs that choose among devices, watch what is done on them, or
// bring a back end of their own; all others hand the engine what cpu.New and
// cuda.NewProvider give.
package backend

import (
	"context"

	"github.com/libcuzk/libcuzk/engine/groth16"
	"github.com/libcuzk/libcuzk/engine/srs"
	"github.com/libcuzk/libcuzk/engine/timeline"
)

// Names of the providers.
const (
	CPU  = "cpu"
	CUDA = "cuda"
)

// Provider finds the devices of one kind. Safe for concurrent use.
type Provider interface {
	// Name is CPU or CUDA.
	Name() string
	// Devices lists what is there without creating contexts. A device that
	// cannot be used is listed with the reason in Info.Unusable; an error
	// says why there is no device of this kind at all.
	Devices() ([]Info, error)
	// Open makes a device ready. ordinal is Info.Ordinal.
	Open(ordinal int) (Device, error)
}

// Device computes partitions. All methods may be called from many goroutines.
type Device interface {
	Info() Info

	// Load makes p usable for Prove, checking its points, and pins nothing: a
	// device may evict and reload it. Loading the same p again costs nothing.
	Load(ctx context.Context, p *srs.Params) error

	// Drop forgets p once the partitions that use it have ended. It does not wait.
	Drop(p *srs.Params)

	// Prove computes the five sums of one partition. Soon after ctx ends it
	// returns context.Cause(ctx). Once it has returned, it reads none of the
	// partition's memory.
	Prove(ctx context.Context, p *Partition) (*groth16.Sums, error)

	// Close waits for running partitions and gives everything back.
	Close() error
}

// Partition is one partition for a Device. Its assignment has been validated
// against the parameter set: sizes, densities and popcounts fit. Scalars have
// not been checked: the Device checks them while it reads them, and fails with
// groth16.ErrScalarRange if one is not below the modulus.
type Partition struct {
	Params     *srs.Params
	Assignment *groth16.Assignment

	// RowsRead is called when A and B are no longer read. Only the first call
	// counts, and when Prove returns none is needed: the caller knows then.
	RowsRead func()

	// RowsNeeded asks for A and B again, to run the partition once more after
	// the device was lost or had no memory for a launch. True means that A and B
	// may be read, and that the next call of RowsRead counts again. False means
	// that the caller may have freed them. Nil is always false.
	RowsNeeded func() bool

	// Park, if not nil, calls wait, which waits for the parameter set, and returns
	// its error. Meanwhile the partition has nothing of the device, and the engine
	// carries others. After an error the partition has to end.
	Park func(wait func() error) error

	// Stage reports the duration of a named stage when it ends; may be called
	// from any goroutine. Never nil.
	Stage func(name string, seconds float64)

	// Timeline takes what a timeline shows beside the stages. May be nil: its
	// methods accept that.
	Timeline *timeline.Partition
}

// Reporter is implemented by devices that count what they do.
type Reporter interface {
	// Stats returns the numbers of now. It may be called at any time, also
	// after Close.
	Stats() Stats
}

// HostPinner is implemented by providers that can lock host memory in place, so
// that devices read it without a copy. The memory is not of the Go heap.
type HostPinner interface {
	// PinHost pins memory for all devices of the provider, now if one of them is
	// open, and again whenever one is opened and it is not pinned. An error says
	// why it is not now; the provider remembers it all the same.
	PinHost(memory []byte) error
	// UnpinHost forgets memory by its first byte, before it is freed.
	UnpinHost(first *byte) error
}

// Stats are a device's own numbers; counters count from its opening.
type Stats struct {
	BudgetBytes uint64 // of the device's memory that may be used, fixed parts included
	FixedBytes  uint64 // context and buffers that stay while the device is open
	MappedBytes uint64 // physical memory for jobs and parameter sets
	JobBytes    uint64 // of it in the hands of jobs
	FencedBytes uint64 // of it handed on by jobs, its last use still running
	SetBytes    uint64 // of it with parameter sets
	PinnedBytes uint64 // host memory: for copies, and what PinHost was given

	// HostSetBytes is host memory with parameter sets that do not fit the
	// device's memory beside a job, pinned by this device for all to read.
	HostSetBytes uint64

	UploadedBytes uint64 // copied to the device
	Streamed      uint64 // partitions whose set was read from host memory
	Retries       uint64 // partitions run again after the device was lost
	Resets        uint64 // times the device was lost and its context made anew
}

// Info describes a device.
type Info struct {
	Backend  string // Provider.Name
	Ordinal  int
	Name     string // as the vendor calls it
	Memory   uint64 // bytes of its own memory; for the CPU the machine's
	Detail   string // driver, compute capability, instruction sets
	Unusable string // why it is not used; empty if it is usable
}
