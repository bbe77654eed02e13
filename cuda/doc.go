// Package cuda proves partitions on NVIDIA cards, through the driver API found
// at run time: there is no CUDA runtime, no SDK and no C in it. NewProvider is
// all that a program calls, for engine.Config.
//
// From the seam down:
//
//	Provider  provider.go  the cards that are there, and why one is not used
//	device    device.go    one card: context, memory budget, scheduler, kernels
//	Load      params.go    a parameter set checked, converted and kept in VRAM
//	Prove     prove.go     one partition: claim, upload, compute, finish
//	staging   ring.go, rows.go, witness.go   pageable memory to the card
//	lanes     lanes.go     streams, events and mapped memory for internal/sched
//	driver    the driver's functions; image finds the kernels, launch starts them
//
// The words and rules are those of docs/two-locks.md.
package cuda
