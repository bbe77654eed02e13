//go:build unix

package cpu_test

import "golang.org/x/sys/unix"

// cpuSeconds is the processor time of this process, which other processes on
// the machine disturb less than they do elapsed time.
func cpuSeconds() float64 {
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return float64(usage.Utime.Nano()+usage.Stime.Nano()) / 1e9
}
