package cudasim

import (
	"fmt"
	"strings"
)

// Config sets the simulator up; zero values stand for the defaults of
// src/config.h.
type Config struct {
	Devices      int    // 1 by default
	VRAMBytes    uint64 // of each device; 16 GiB by default
	ContextBytes uint64 // device memory that a context takes; 0.51 GiB by default
	Seed         uint64 // of the order of streams, blocks and threads; 1 by default
	InOrder      bool   // streams, blocks and threads in order, whatever Seed says
	Outstanding  int    // operations that may be enqueued and not run; 512 by default
	// PollOperations is how many operations run when a query finds its work
	// unfinished; 1 by default.
	PollOperations int
	AllowPageable  bool // asynchronous copies of memory that is not pinned
	Declared       bool // every launch must declare what it touches
	Trace          bool // keep the timeline in the report
	BrokenVirtual  int  // what virtual memory calls say beside a broken context; src/config.h
	// Recovers lets a device take a new context after one was broken by an error
	// of which the driver says that the process has to be started anew.
	Recovers      bool
	DriverVersion int // 13000 by default
	Compute       int // compute capability times 10; 90 by default
}

func (c Config) lines() string {
	var lines strings.Builder
	set := func(key string, value uint64) {
		if value != 0 {
			fmt.Fprintf(&lines, "%s %d\n", key, value)
		}
	}
	one := func(b bool) uint64 {
		if b {
			return 1
		}
		return 0
	}
	set("devices", uint64(c.Devices))
	set("vram", c.VRAMBytes)
	set("context_bytes", c.ContextBytes)
	set("seed", c.Seed)
	set("outstanding", uint64(c.Outstanding))
	set("poll_operations", uint64(c.PollOperations))
	set("pageable", one(c.AllowPageable))
	set("declared", one(c.Declared))
	set("trace", one(c.Trace))
	set("broken_virtual", uint64(c.BrokenVirtual))
	set("recovers", one(c.Recovers))
	set("driver_version", uint64(c.DriverVersion))
	set("compute", uint64(c.Compute))
	if c.InOrder {
		lines.WriteString("seed 0\n")
	}
	return lines.String()
}

// Names that Fault.Call takes beside those of the driver functions.
const (
	AnyCall   = "*"          // any driver function
	RunKernel = "run.kernel" // a kernel is about to run
	RunCopy   = "run.copy"   // a copy is about to run
	RunFill   = "run.fill"   // a fill is about to run
)

// Fault makes calls fail, wait, or find less memory.
type Fault struct {
	Call       string // driver function without version, as "cuMemAlloc", or a name above
	Nth        uint64 // the n-th matching call from when the fault is added, from 1; 0: every one
	FromThenOn bool   // also every later one
	// Code is the CUresult returned instead of doing anything; 0: the call is
	// done. At run.* the operation fails with it and breaks its context.
	Code   int
	Sticky bool // the context answers Code from then on
	// SleepMicroseconds is real time that the call takes longer.
	SleepMicroseconds uint64
	SeizeBytes        int64 // device memory that a neighbour takes; negative: gives back
	Device            int   // of SeizeBytes and Dies
	On                int   // only calls about device On-1, or on a context of it; 0: all calls
	Dies              bool  // Device answers Code to every call about it from then on
	Hangs             bool  // at run.*: the operation never ends, until Sim.Unhang
}

func (f Fault) line() string {
	bit := func(b bool) int {
		if b {
			return 1
		}
		return 0
	}
	return fmt.Sprintf("fault call=%s nth=%d from=%d code=%d sticky=%d sleep_us=%d seize=%d device=%d on=%d dies=%d hangs=%d",
		f.Call, f.Nth, bit(f.FromThenOn), f.Code, bit(f.Sticky), f.SleepMicroseconds, f.SeizeBytes, f.Device,
		f.On-1, bit(f.Dies), bit(f.Hangs))
}
