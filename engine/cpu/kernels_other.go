//go:build !amd64

package cpu

// choose takes what there is.
func (d *Device) choose(Options) { d.usePortable() }

// vectorized reports whether vector kernels are used: there are none here.
func vectorized(Options) bool { return false }
