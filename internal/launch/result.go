package launch

import (
	"fmt"
	"unsafe"

	bls "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fp"
)

// Results of the device become points of gnark-crypto here. Both keep a coordinate
// as little-endian limbs in Montgomery form.

// sumG1 and sumG2 are G.SumBytes bytes of device memory: x = X / ZZ,
// y = Y / ZZZ, ZZ^3 = ZZZ^2; infinity has ZZ = 0.
type sumG1 struct{ X, Y, ZZ, ZZZ fp.Element }
type sumG2 struct{ X, Y, ZZ, ZZZ bls.E2 }

// jacobian has Z = ZZ: X ZZ / ZZ^2 = x, and Y ZZZ / ZZ^3 = Y / ZZZ = y.
func (s *sumG1) jacobian() (p bls.G1Jac) {
	if s.ZZ.IsZero() {
		p.X.SetOne()
		p.Y.SetOne()
		return p
	}
	p.X.Mul(&s.X, &s.ZZ)
	p.Y.Mul(&s.Y, &s.ZZZ)
	p.Z = s.ZZ
	return p
}

func (s *sumG2) jacobian() (p bls.G2Jac) {
	if s.ZZ.IsZero() {
		p.X.SetOne()
		p.Y.SetOne()
		return p
	}
	p.X.Mul(&s.X, &s.ZZ)
	p.Y.Mul(&s.Y, &s.ZZZ)
	p.Z = s.ZZ
	return p
}

// SumsG1 reads n sums of G1 that were copied from the device.
func SumsG1(data []byte, n int) []bls.G1Jac {
	out := make([]bls.G1Jac, n)
	for i, s := range view[sumG1](data, n) {
		out[i] = s.jacobian()
	}
	return out
}

// SumsG2 reads n sums of G2 that were copied from the device.
func SumsG2(data []byte, n int) []bls.G2Jac {
	out := make([]bls.G2Jac, n)
	for i, s := range view[sumG2](data, n) {
		out[i] = s.jacobian()
	}
	return out
}

// view copies data, so that alignment does not matter.
func view[T any](data []byte, n int) []T {
	out := make([]T, n)
	if n == 0 {
		return out
	}
	size := n * int(unsafe.Sizeof(out[0]))
	if len(data) < size {
		panic(fmt.Sprintf("BUG: launch: %d bytes of results, want %d", len(data), size))
	}
	// SAFETY: T is made of limbs only; out is as long as size.
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&out[0])), size), data)
	return out
}

// ResultG1 is the MSM's value from its result bytes: the windows' sums joined,
// the top window first.
func (p MSM) ResultG1(data []byte) bls.G1Jac {
	windows := SumsG1(data, int(p.Windows))
	total := windows[p.Windows-1]
	for w := int(p.Windows) - 2; w >= 0; w-- {
		for range p.Window {
			total.DoubleAssign()
		}
		total.AddAssign(&windows[w])
	}
	return total
}

// ResultG2 is ResultG1 for G2.
func (p MSM) ResultG2(data []byte) bls.G2Jac {
	windows := SumsG2(data, int(p.Windows))
	total := windows[p.Windows-1]
	for w := int(p.Windows) - 2; w >= 0; w-- {
		for range p.Window {
			total.DoubleAssign()
		}
		total.AddAssign(&windows[w])
	}
	return total
}

// FixedTableG1 is the table of Fixed for base b.
func FixedTableG1(b bls.G1Affine) []bls.G1Affine {
	sums := make([]bls.G1Jac, 0, FixedTableN)
	var step, sum bls.G1Jac
	step.FromAffine(&b)
	for range FixedTableN / fixedEntries {
		sum = step
		for range fixedEntries {
			sums = append(sums, sum)
			sum.AddAssign(&step)
		}
		step = sum // 256 times
	}
	return bls.BatchJacobianToAffineG1(sums)
}

// FixedTableG2 is the table of Fixed for base b.
func FixedTableG2(b bls.G2Affine) []bls.G2Affine {
	table := make([]bls.G2Affine, 0, FixedTableN)
	var step, sum bls.G2Jac
	step.FromAffine(&b)
	for range FixedTableN / fixedEntries {
		sum = step
		for range fixedEntries {
			var p bls.G2Affine
			table = append(table, *p.FromJacobian(&sum))
			sum.AddAssign(&step)
		}
		step = sum
	}
	return table
}
