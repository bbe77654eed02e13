package ntt

import (
	"math/bits"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/libcuzk/libcuzk/internal/hostmem"
	"github.com/libcuzk/libcuzk/internal/modulus"
)

// portable is the kernel on gnark-crypto's field: V is one field element in
// Montgomery form.
type portable struct {
	m     int
	roots *hostmem.Buffer[fr.Element] // [m] ψ^rev(j), rev over log m bits
	// h = (c - ab·ratio)·scale: c lacks a factor 1/m and ab 1/m³.
	ratio, scale fr.Element
}

func newPortable(pool *hostmem.Pool, m int) (*portable, error) {
	psi, err := root(m)
	if err != nil {
		return nil, err
	}
	roots, err := hostmem.Get[fr.Element](pool, m)
	if err != nil {
		return nil, err
	}
	fillRoots(roots.Data, psi)
	k := &portable{m: m, roots: roots}
	k.ratio.SetUint64(uint64(m))
	k.scale.Double(&k.ratio).Inverse(&k.scale)
	k.ratio.Square(&k.ratio).Inverse(&k.ratio)
	return k, nil
}

// fillRoots sets roots[j] = ψ^rev(j), with a multiplication each:
// rev(B+j) = rev(j) + m/2B for j < B, B a power of two.
func fillRoots(roots []fr.Element, psi fr.Element) {
	m := len(roots)
	powers := []fr.Element{psi} // powers[i] = ψ^(2^i)
	for 1<<len(powers) < m {
		var next fr.Element
		powers = append(powers, *next.Square(&powers[len(powers)-1]))
	}
	roots[0].SetOne()
	for half := 1; half < m; half *= 2 {
		step := &powers[bits.TrailingZeros(uint(m/(2*half)))]
		for j := range half {
			roots[half+j].Mul(&roots[j], step)
		}
	}
}

// mirror returns the node whose root is the negative inverse of node j's,
// j > 0: among nodes B .. 2B-1 it lies opposite. rev(j) + rev(mirror(j)) = m,
// and ψ^m = -1.
func mirror(j int) int {
	first := 1 << (bits.Len(uint(j)) - 1)
	return 3*first - 1 - j
}

func (k *portable) close() { k.roots.Release() }

func (k *portable) elems() int { return 1 }

func (k *portable) load(dst []fr.Element, rows []fr.Element, lo, hi int) int {
	shift := 64 - bits.Len(uint(k.m)) + 1
	for i := lo; i < hi; i++ {
		row := uint64(0)
		if k.m > 1 {
			row = bits.Reverse64(uint64(i)) >> shift
		}
		if row >= uint64(len(rows)) {
			dst[i].SetZero()
			continue
		}
		dst[i] = rows[row]
		if !modulus.BelowR(&dst[i]) {
			return int(row)
		}
	}
	return -1
}

func (k *portable) mul(dst, x, y []fr.Element) {
	v := fr.Vector(dst)
	v.Mul(x, y)
}

func (k *portable) store(h []Scalar, c, ab []fr.Element) {
	for i := range h {
		var x fr.Element
		x.Mul(&ab[i], &k.ratio)
		x.Sub(&c[i], &x)
		h[i] = x.Mul(&x, &k.scale).Bits()
	}
}

func (k *portable) forward2(x0, x1 []fr.Element, j int) {
	w := &k.roots.Data[j]
	x1 = x1[:len(x0)]
	if j == 0 {
		for i := range x0 {
			fr.Butterfly(&x0[i], &x1[i])
		}
		return
	}
	for i := range x0 {
		x1[i].Mul(&x1[i], w)
		fr.Butterfly(&x0[i], &x1[i])
	}
}

func (k *portable) inverse2(x0, x1 []fr.Element, j int) {
	x1 = x1[:len(x0)]
	if j == 0 {
		for i := range x0 {
			fr.Butterfly(&x0[i], &x1[i])
		}
		return
	}
	w := &k.roots.Data[mirror(j)]
	for i := range x0 {
		// The root is negative: (x1 - x0)·w = (x0 - x1)/root.
		var d fr.Element
		d.Sub(&x1[i], &x0[i])
		x0[i].Add(&x0[i], &x1[i])
		x1[i].Mul(&d, w)
	}
}

func (k *portable) forward4(x0, x1, x2, x3 []fr.Element, j int) {
	k.forward2(x0, x2, j)
	k.forward2(x1, x3, j)
	k.forward2(x0, x1, 2*j)
	k.forward2(x2, x3, 2*j+1)
}

func (k *portable) inverse4(x0, x1, x2, x3 []fr.Element, j int) {
	k.inverse2(x0, x1, 2*j)
	k.inverse2(x2, x3, 2*j+1)
	k.inverse2(x0, x2, j)
	k.inverse2(x1, x3, j)
}

func (k *portable) forwardLeaves([]fr.Element, int) {}

func (k *portable) inverseLeaves([]fr.Element, int) {}
