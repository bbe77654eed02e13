package cudasim

// Kinds of violations. Source: src/violation.h.
const (
	KindBounds      = "bounds"       // access outside live memory
	KindUnwritten   = "unwritten"    // read of bytes never written
	KindUndeclared  = "undeclared"   // access outside the launch's declared ranges
	KindOrder       = "order"        // conflicting operations without order between them
	KindHandedOn    = "handed-on"    // use of memory after hand-on, or of another job's
	KindRace        = "race"         // global memory, two threads of a launch, nothing to order them
	KindSharedRace  = "shared-race"  // shared memory, two threads, no barrier between
	KindBarrier     = "barrier"      // a barrier that not all threads reach
	KindUndefined   = "undefined"    // undefined behaviour in a kernel
	KindLimit       = "limit"        // a wrong argument, or more than the device has
	KindOutstanding = "outstanding"  // a launch that would block
	KindContext     = "context"      // a call on a thread without the right context
	KindHandle      = "handle"       // a handle of the wrong kind, stale, or foreign
	KindRelease     = "release"      // freed twice, never, or in the wrong order
	KindBusy        = "busy"         // memory taken away from work that has not run
	KindHostChanged = "host-changed" // pinned memory changed before its copy ran
	KindUnpinned    = "unpinned"     // asynchronous copy of memory that is not pinned
)

// Violation is one thing found wrong.
type Violation struct {
	Kind    string
	Message string
}

// DeviceWide is a call that waited for all work of the context, and how many
// operations had not run then.
type DeviceWide struct {
	Call        string
	Outstanding uint64
}

// Device is one device's memory in bytes. Implicit is what launches have taken
// of it, for code and local memory that nobody reserved.
type Device struct{ Used, Peak, Neighbour, Implicit uint64 }

// Operation is one entry of the timeline, in nanoseconds of the virtual clock.
type Operation struct {
	Name       string
	Stream     uint32
	Device     int
	Code       int
	EnqueuedNS uint64 `json:"enqueued_ns"`
	StartNS    uint64 `json:"start_ns"`
	EndNS      uint64 `json:"end_ns"`
}

// Kernel is one kernel of the registry.
type Kernel struct {
	Name       string
	ArgsBytes  uint64 `json:"args_bytes"`
	MaxThreads uint32 `json:"max_threads"`
}

// Live counts what exists now.
type Live struct {
	Contexts, Streams, Events, Modules, Allocations, Pinned int
	Physical, Mappings, Reservations                        int
}

// Report is what the simulator has seen since the test began.
type Report struct {
	Violations         []Violation
	Calls              map[string]uint64 // by driver function
	CallTotal          uint64            `json:"call_total"`
	DeviceWide         []DeviceWide      `json:"device_wide"`
	Devices            []Device
	Trace              []Operation
	Kernels            []Kernel
	UnrecordedWaits    uint64 `json:"unrecorded_waits"` // waits for events never recorded: no waits at all
	UndeclaredLaunches uint64 `json:"undeclared_launches"`
	MaxOutstanding     uint64 `json:"max_outstanding"`
	Outstanding        uint64
	Struck             []string // what faults struck, in order; at most 1,000
	FailedReleases     uint64   `json:"failed_releases"` // releases that a fault made fail
	NowNS              uint64   `json:"now_ns"`
	Live               Live
}
