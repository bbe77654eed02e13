package cpu

import (
	bls "github.com/consensys/gnark-crypto/ecc/bls12-381"

	"github.com/libcuzk/libcuzk/engine/cpu/internal/curve"
	"github.com/libcuzk/libcuzk/engine/cpu/internal/msm"
	"github.com/libcuzk/libcuzk/engine/cpu/internal/ntt"
)

// costG2 is what an addition in G2 costs beside one in G1.
const costG2 = 3

// usePortable makes the device use what runs on any processor.
func (d *Device) usePortable() {
	d.g1 = summersG1(d, curve.NewPortableG1)
	d.g2 = summersG2(d, curve.NewPortableG2)
	d.newPlan = ntt.New
}

func summersG1[P any](d *Device, adder func() curve.Adder[bls.G1Affine, P]) func(int) summerG1 {
	g := &msm.Group[bls.G1Affine, P, bls.G1Jac]{Pool: &d.pool, NewAdder: adder}
	return func(workers int) summerG1 { return newSummer(g, workers, 1) }
}

func summersG2[P any](d *Device, adder func() curve.Adder[bls.G2Affine, P]) func(int) summerG2 {
	g := &msm.Group[bls.G2Affine, P, bls.G2Jac]{Pool: &d.pool, NewAdder: adder}
	return func(workers int) summerG2 { return newSummer(g, workers, costG2) }
}
