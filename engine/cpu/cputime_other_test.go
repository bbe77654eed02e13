//go:build !unix

package cpu_test

// cpuSeconds is not known here.
func cpuSeconds() float64 { return 0 }
