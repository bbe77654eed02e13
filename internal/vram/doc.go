// Package vram accounts for the memory of one device, byte by byte, without
// touching a device: which job or parameter set holds which block, which
// fence must have passed before a block is used again, which physical chunks
// are mapped, and how much a job takes at its peak.
//
// Nothing here locks. A Ledger belongs to one sched.Scheduler, which takes
// its memory lock round every call.
package vram
