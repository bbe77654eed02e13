//go:build !linux

package cpu

// memoryBytes is 0: not known.
func memoryBytes() uint64 { return 0 }
