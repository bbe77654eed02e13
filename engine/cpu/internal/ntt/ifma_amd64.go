package ntt

import (
	"math/bits"
	"unsafe"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/klauspost/cpuid/v2"

	"github.com/libcuzk/libcuzk/internal/hostmem"
	"github.com/libcuzk/libcuzk/internal/modulus"
)

//go:generate go run ../gen ntt zifma_amd64.s

// HasIFMA reports whether the processor and the system support what the
// kernels in zifma_amd64.s use.
var HasIFMA = cpuid.CPU.Supports(cpuid.AVX512F, cpuid.AVX512DQ, cpuid.AVX512BW, cpuid.AVX512VL, cpuid.AVX512IFMA)

const (
	limbs    = 5
	limbBits = 52
	lanes    = 8

	// minVectorDomain is the smallest domain of the vector kernels: the last
	// three layers are done on eight vectors at a time.
	minVectorDomain = lanes * lanes
)

// vector is eight scalars side by side, limb after limb, each below 1.3·r.
// Rows stay in the caller's Montgomery form, x·2^256; the kernels' product
// divides by 2^260, and constants that are multiplied with have that factor.
type vector [limbs][lanes]uint64

// constant is a scalar x as x·2^260, below r, for all lanes.
type constant [limbs]uint64

//go:noescape
func loadVectors(dst *vector, rows *unsafe.Pointer, n int)

//go:noescape
func mulVectors(dst, x, y *vector, n int)

//go:noescape
func storeVectors(h *Scalar, c, ab *vector, n int, ratio, scale *constant)

//go:noescape
func forward2Vectors(x0, x1 *vector, n int, w *constant)

//go:noescape
func inverse2Vectors(x0, x1 *vector, n int, w *constant)

//go:noescape
func forward4Vectors(x0, x1, x2, x3 *vector, n int, w *[3]constant)

//go:noescape
func inverse4Vectors(x0, x1, x2, x3 *vector, n int, w *[3]constant)

//go:noescape
func forwardVectors(x *vector, groups int, roots *vector, node int, scratch *leafScratch)

//go:noescape
func inverseVectors(x *vector, groups int, roots *vector, node int, scratch *leafScratch)

// leafScratch is eight transposed vectors and seven of roots.
type leafScratch [8 + 7]vector

// ifma is the kernel on eight scalars at a time.
type ifma struct {
	m     int
	roots *hostmem.Buffer[vector] // [m/8] roots of the nodes
	// [m/8] negative inverses of the roots; that of node j > 0 is the root of
	// mirror(j).
	inverses     *hostmem.Buffer[vector]
	ratio, scale constant
}

// NewVector returns the plan for processors with AVX-512 IFMA; for the
// smallest domains it is the portable one.
func NewVector(pool *hostmem.Pool, m int) (Plan, error) {
	if m < minVectorDomain {
		return New(pool, m)
	}
	k, err := newIFMA(pool, m)
	if err != nil {
		return nil, err
	}
	return &plan[vector]{kernel: k, pool: pool, m: m}, nil
}

func newIFMA(pool *hostmem.Pool, m int) (*ifma, error) {
	psi, err := root(m)
	if err != nil {
		return nil, err
	}
	plain, err := hostmem.Get[fr.Element](pool, m)
	if err != nil {
		return nil, err
	}
	defer plain.Release()
	k := &ifma{m: m}
	if k.roots, err = hostmem.Get[vector](pool, m/lanes); err != nil {
		return nil, err
	}
	if k.inverses, err = hostmem.Get[vector](pool, m/lanes); err != nil {
		k.roots.Release()
		return nil, err
	}
	fillRoots(plain.Data, psi)
	for j := range plain.Data {
		w := toConstant(&plain.Data[j])
		setLane(&k.roots.Data[j/lanes], j%lanes, &w)
		if j > 0 {
			at := mirror(j)
			setLane(&k.inverses.Data[at/lanes], at%lanes, &w)
		}
	}
	var minusOne, ratio, scale fr.Element
	minusOne.SetInt64(-1)
	w := toConstant(&minusOne)
	setLane(&k.inverses.Data[0], 0, &w)

	// c is m·C·2^252 and ab is m³·AB·2^252, since a product divides by 2^260.
	// h = (c - ab/m²)/2m, freed of the factor 2^252: scale times 2^260 is
	// 2^8/2m times 2^260, and the product divides by 2^260.
	ratio.SetUint64(uint64(m))
	scale.SetUint64(1<<8).Div(&scale, ratio.Double(&ratio)) // 2m
	ratio.SetUint64(uint64(m)).Square(&ratio).Inverse(&ratio)
	k.ratio, k.scale = toConstant(&ratio), limbsOf(scale.Bits())
	return k, nil
}

// toConstant returns x·2^260.
func toConstant(x *fr.Element) constant {
	// As it lies in memory x is x·2^256.
	y := *x
	for range 4 {
		y.Double(&y)
	}
	return limbsOf(y)
}

func limbsOf(words [4]uint64) (c constant) {
	for j := range c {
		bit := j * limbBits
		word, shift := bit/64, bit%64
		c[j] = words[word] >> shift
		if shift+limbBits > 64 && word+1 < len(words) {
			c[j] |= words[word+1] << (64 - shift)
		}
		c[j] &= 1<<limbBits - 1
	}
	return c
}

func setLane(v *vector, lane int, c *constant) {
	for j := range c {
		v[j][lane] = c[j]
	}
}

// lane returns the constant of node j.
func nodeConstant(table []vector, j int) (c constant) {
	v := &table[j/lanes]
	for l := range c {
		c[l] = v[l][j%lanes]
	}
	return c
}

func nodeConstants(table []vector, j int) [3]constant {
	return [3]constant{nodeConstant(table, j), nodeConstant(table, 2*j), nodeConstant(table, 2*j+1)}
}

func (k *ifma) close() {
	k.roots.Release()
	k.inverses.Release()
}

func (k *ifma) elems() int { return lanes }

// zero is the row that pads the domain.
var zero fr.Element

func (k *ifma) load(dst []vector, rows []fr.Element, lo, hi int) int {
	const piece = 64
	var pointers [piece * lanes]unsafe.Pointer
	shift := 64 - bits.Len(uint(k.m)) + 1
	for from := lo; from < hi; from += piece {
		n := min(piece, hi-from)
		for i := range n * lanes {
			row := bits.Reverse64(uint64(from*lanes+i)) >> shift
			pointers[i] = unsafe.Pointer(&zero)
			if row < uint64(len(rows)) {
				if !modulus.BelowR(&rows[row]) {
					return int(row)
				}
				pointers[i] = unsafe.Pointer(&rows[row])
			}
		}
		loadVectors(&dst[from], &pointers[0], n)
	}
	return -1
}

func (k *ifma) mul(dst, x, y []vector) {
	mulVectors(&dst[0], &x[0], &y[0], len(dst))
}

func (k *ifma) store(h []Scalar, c, ab []vector) {
	storeVectors(&h[0], &c[0], &ab[0], len(c), &k.ratio, &k.scale)
}

func (k *ifma) forward2(x0, x1 []vector, j int) {
	w := nodeConstant(k.roots.Data, j)
	forward2Vectors(&x0[0], &x1[0], len(x0), &w)
}

func (k *ifma) inverse2(x0, x1 []vector, j int) {
	w := nodeConstant(k.inverses.Data, j)
	inverse2Vectors(&x0[0], &x1[0], len(x0), &w)
}

func (k *ifma) forward4(x0, x1, x2, x3 []vector, j int) {
	w := nodeConstants(k.roots.Data, j)
	forward4Vectors(&x0[0], &x1[0], &x2[0], &x3[0], len(x0), &w)
}

func (k *ifma) inverse4(x0, x1, x2, x3 []vector, j int) {
	w := nodeConstants(k.inverses.Data, j)
	inverse4Vectors(&x0[0], &x1[0], &x2[0], &x3[0], len(x0), &w)
}

func (k *ifma) forwardLeaves(x []vector, j int) {
	var scratch leafScratch
	forwardVectors(&x[0], len(x)/lanes, &k.roots.Data[0], j, &scratch)
}

func (k *ifma) inverseLeaves(x []vector, j int) {
	var scratch leafScratch
	inverseVectors(&x[0], len(x)/lanes, &k.inverses.Data[0], j, &scratch)
}
