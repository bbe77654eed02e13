package launch_test

import (
	"math/big"
	"testing"

	bls "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fp"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/libcuzk/libcuzk/internal/launch"
)

// pairs makes every pair of the edge values, and random ones.
func pairs[T any](edges []T, random func() T) (x, y []T) {
	for _, a := range edges {
		for _, b := range edges {
			x, y = append(x, a), append(y, b)
		}
	}
	for range 1000 {
		x, y = append(x, random()), append(y, random())
	}
	return x, y
}

func TestFr(t *testing.T) {
	r := openProbes(t)
	edges := make([]fr.Element, 6)
	edges[1].SetOne()
	edges[2].SetInt64(-1)
	edges[3] = fr.Element{1}           // the smallest Montgomery representative
	edges[4].Sub(&edges[0], &edges[3]) // the greatest: all limbs of r - 1
	edges[5].SetUint64(0xffffffffffffffff)
	x, y := pairs(edges, r.scalar)
	radix := radixOf(fr.Bits, fr.Modulus())
	var want []fr.Element
	for i := range x {
		var v [launch.ProbeFieldResults]fr.Element
		v[0].Add(&x[i], &y[i])
		v[1].Sub(&x[i], &y[i])
		v[2].Mul(&x[i], &y[i])
		v[3].Square(&x[i])
		v[4].Neg(&x[i])
		v[5].Double(&x[i])
		v[6].Inverse(&x[i])
		v[7].SetBigInt(radix)
		v[7].Mul(&v[7], &x[i])
		want = append(want, v[:]...)
	}
	out := r.memory(uint64(len(want)) * launch.FrBytes)
	r.Launch(launch.ProbeField(launch.FrBytes, upload(r, x), upload(r, y), out, uint32(len(x))))
	requireSame(t, want, download[fr.Element](r, out, len(want)), "Fr")
}

// radixOf is the Montgomery radix of a field with limbs of 64 bits.
func radixOf(bits int, modulus *big.Int) *big.Int {
	limbs := (bits + 63) / 64
	radix := new(big.Int).Lsh(big.NewInt(1), uint(64*limbs))
	return radix.Mod(radix, modulus)
}

func edgesFp() []fp.Element {
	edges := make([]fp.Element, 6)
	edges[1].SetOne()
	edges[2].SetInt64(-1)
	edges[3] = fp.Element{1}
	edges[4].Sub(&edges[0], &edges[3])
	edges[5].SetUint64(0xffffffffffffffff)
	return edges
}

func TestFp(t *testing.T) {
	r := openProbes(t)
	x, y := pairs(edgesFp(), r.coordinate)
	radix := radixOf(fp.Bits, fp.Modulus())
	var want []fp.Element
	for i := range x {
		var v [launch.ProbeFieldResults]fp.Element
		v[0].Add(&x[i], &y[i])
		v[1].Sub(&x[i], &y[i])
		v[2].Mul(&x[i], &y[i])
		v[3].Square(&x[i])
		v[4].Neg(&x[i])
		v[5].Double(&x[i])
		v[6].Inverse(&x[i])
		v[7].SetBigInt(radix)
		v[7].Mul(&v[7], &x[i])
		want = append(want, v[:]...)
	}
	out := r.memory(uint64(len(want)) * launch.FpBytes)
	r.Launch(launch.ProbeField(launch.FpBytes, upload(r, x), upload(r, y), out, uint32(len(x))))
	requireSame(t, want, download[fp.Element](r, out, len(want)), "Fp")
}

func TestFp2(t *testing.T) {
	r := openProbes(t)
	var edges []bls.E2
	for _, a := range edgesFp()[:5] {
		for _, b := range edgesFp()[:5] {
			edges = append(edges, bls.E2{A0: a, A1: b})
		}
	}
	x, y := pairs(edges, func() bls.E2 { return bls.E2{A0: r.coordinate(), A1: r.coordinate()} })
	var radix bls.E2
	radix.A0.SetBigInt(radixOf(fp.Bits, fp.Modulus()))
	var want []bls.E2
	for i := range x {
		var v [launch.ProbeFieldResults]bls.E2
		v[0].Add(&x[i], &y[i])
		v[1].Sub(&x[i], &y[i])
		v[2].Mul(&x[i], &y[i])
		v[3].Square(&x[i])
		v[4].Neg(&x[i])
		v[5].Double(&x[i])
		v[6].Inverse(&x[i])
		v[7].Mul(&x[i], &radix)
		want = append(want, v[:]...)
	}
	out := r.memory(uint64(len(want)) * 2 * launch.FpBytes)
	r.Launch(launch.ProbeField(2*launch.FpBytes, upload(r, x), upload(r, y), out, uint32(len(x))))
	requireSame(t, want, download[bls.E2](r, out, len(want)), "Fp2")
}

// edgePairs are logarithms of pairs of points: infinity, equal, opposite and
// ordinary ones.
func edgePairs(r *rig) (p, q []fr.Element) {
	var zero, minus fr.Element
	for range 20 {
		a, b := r.scalar(), r.scalar()
		minus.Neg(&a)
		p = append(p, a, a, a, a, zero, zero)
		q = append(q, b, a, minus, zero, a, zero)
	}
	return p, q
}

// pointSums are the logarithms of what a probe of points computes.
func pointSums(p, q []fr.Element) (sums []fr.Element) {
	var times fr.Element
	times.SetUint64(1000003)
	for i := range p {
		var v [launch.ProbePointResults]fr.Element
		v[0].Add(&p[i], &q[i])
		v[1].Double(&p[i])
		v[2].Double(&v[0])
		v[3].Add(&v[1], &q[i])
		v[4].Mul(&p[i], &times)
		sums = append(sums, v[:]...)
	}
	return sums
}

func TestPointsG1(t *testing.T) {
	r := openProbes(t)
	p, q := edgePairs(r)
	want := pointsG1(pointSums(p, q))
	out := r.memory(uint64(len(want)) * launch.G1.SumBytes())
	r.Launch(launch.ProbePoints(launch.G1, upload(r, pointsG1(p)), upload(r, pointsG1(q)), out, uint32(len(p))))
	got := launch.SumsG1(download[byte](r, out, int(out.Bytes)), len(want))
	requireSame(t, want, bls.BatchJacobianToAffineG1(got), "G1")
}

func TestPointsG2(t *testing.T) {
	r := openProbes(t)
	p, q := edgePairs(r)
	want := pointsG2(pointSums(p, q))
	out := r.memory(uint64(len(want)) * launch.G2.SumBytes())
	r.Launch(launch.ProbePoints(launch.G2, upload(r, pointsG2(p)), upload(r, pointsG2(q)), out, uint32(len(p))))
	got := launch.SumsG2(download[byte](r, out, int(out.Bytes)), len(want))
	for i := range want {
		requireSame(t, want[i:i+1], []bls.G2Affine{affineG2(got[i])}, "G2")
	}
}
