package cpu

import "golang.org/x/sys/unix"

// memoryBytes is the machine's memory, 0 if it cannot be known.
func memoryBytes() uint64 {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return 0
	}
	return uint64(info.Totalram) * uint64(info.Unit)
}
