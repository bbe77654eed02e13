package engine

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/libcuzk/libcuzk/engine/backend"
	"github.com/libcuzk/libcuzk/engine/groth16"
	"github.com/libcuzk/libcuzk/internal/sched"
)

// The types of a proof, under the names that users of the engine need.
type (
	Assignment   = groth16.Assignment
	Density      = groth16.Density
	Proof        = groth16.Proof
	VerifyingKey = groth16.VerifyingKey
	Priority     = sched.Priority
)

// The priorities, lowest to highest; Default is Normal.
const (
	PriorityDefault  = sched.Default
	PriorityLow      = sched.Low
	PriorityNormal   = sched.Normal
	PriorityHigh     = sched.High     // WindowPoSt
	PriorityCritical = sched.Critical // WinningPoSt
)

// MaxWorkers bounds SetWorkers: more than a few never help, and each claims
// its own memory.
const MaxWorkers = 64

// Workers a device when nothing is set. A GPU needs three to overlap one
// job's uploads and one's tail with the kernels of a third (docs/two-locks.md);
// on the CPU a single job uses all cores.
const (
	defaultWorkersGPU = 3
	defaultWorkersCPU = 1
)

// Config is what New needs. The zero value of every field but Providers is
// usable.
type Config struct {
	// Providers in order of preference. Devices of the first provider that
	// has usable ones take the jobs; the others only those that name them.
	Providers []backend.Provider

	// Workers a device; 0 is the default: 3 on a GPU, 1 on the CPU.
	Workers int

	// Log receives what the engine has to say; nil discards it.
	Log *slog.Logger

	// CloseIdle is how long a GPU must have no job before it is closed, which
	// gives back its context and all its memory, until the next job; 0: never.
	CloseIdle time.Duration

	// Fallback is where partitions go whose device is lost twice.
	Fallback Fallback

	// Timeline is the path of a file to record package timeline's spans in
	// until Close; %p in it is the number of the process. Empty: none.
	Timeline string
}

// AnyDevice lets the engine choose.
const AnyDevice = -1

// ProveOptions are a job's own settings. Start from DefaultProveOptions: the
// zero value asks for device 0.
type ProveOptions struct {
	Priority      Priority
	Device        int  // index in Devices, or AnyDevice
	SkipSelfCheck bool // return proofs that were not verified
}

// DefaultProveOptions is normal priority on any device, self-check on.
func DefaultProveOptions() ProveOptions { return ProveOptions{Device: AnyDevice} }

func checkWorkers(n int) error {
	if n < 0 || n > MaxWorkers {
		return fmt.Errorf("%w: workers is %d, expected 0 (default) to %d", ErrOption, n, MaxWorkers)
	}
	return nil
}
