package cpu

import (
	"github.com/libcuzk/libcuzk/engine/cpu/internal/curve"
	"github.com/libcuzk/libcuzk/engine/cpu/internal/ntt"
)

// choose picks the fastest code that the processor has the instructions for.
func (d *Device) choose(options Options) {
	d.usePortable()
	if vectorized(options) {
		d.g1 = summersG1(d, curve.NewG1)
		d.g2 = summersG2(d, curve.NewG2)
		d.newPlan = ntt.NewVector
	}
}

// vectorized reports whether the kernels for AVX-512 IFMA are used.
func vectorized(options Options) bool { return curve.HasIFMA && !options.Portable }
