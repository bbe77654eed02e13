package curve

import (
	"math/bits"
	"unsafe"

	bls "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fp"

	"github.com/klauspost/cpuid/v2"
	"github.com/libcuzk/libcuzk/internal/modulus"
)

//go:generate go run ../gen curve zifma_amd64.s

// HasIFMA reports whether the processor and the system support what the
// kernels in zifma_amd64.s use.
var HasIFMA = cpuid.CPU.Supports(cpuid.AVX512F, cpuid.AVX512DQ, cpuid.AVX512BW, cpuid.AVX512VL, cpuid.AVX512IFMA)

const (
	limbs    = 8
	limbBits = 52
	lanes    = 8
)

// limbVector is a field element x as x·2^416 mod p, below 1.001·p, in limbs of
// 52 bits.
type limbVector = [limbs]uint64

// PointG1 is a point of an IFMA arena: x, y. Infinity is all zero.
type PointG1 [2]limbVector

// PointG2 is a point of an IFMA arena: x.A0, x.A1, y.A0, y.A1.
type PointG2 [4]limbVector

// block8 is eight field elements side by side, limb after limb.
type block8 = [limbs][lanes]uint64

// batch is what the kernels read; the offsets of its fields are known there.
type batch struct {
	arena  unsafe.Pointer
	a, b   *Ref // [8·blocks], with a block before and after them to read
	dst    *Ref // [8·blocks]
	blocks int
	d      *block8 // [2·degree·blocks] denominators and x_A of each block
	prefix *block8 // [degree·(blocks+1)]
	temp   *block8 // scratch; the first elements are the inverse
}

// scratchBlocks is the size of batch.temp: seven elements of Fp2.
const scratchBlocks = 2 * 7

//go:noescape
func forwardG1(b *batch)

//go:noescape
func backwardG1(b *batch)

//go:noescape
func forwardG2(b *batch)

//go:noescape
func backwardG2(b *batch)

//go:noescape
func loadG1(dst *PointG1, src *bls.G1Affine, at *uint32, blocks int) (infinity bool)

//go:noescape
func loadG2(dst *PointG2, src *bls.G2Affine, at *uint32, blocks int) (infinity bool)

// kernels are the functions of one group.
type kernels[A, P any] struct {
	degree            int
	forward, backward func(*batch)
	load              func(dst *P, src *A, at *uint32, blocks int) bool
}

// ifma is the Adder on eight pairs at a time.
type ifma[A, P any] struct {
	kernels[A, P]

	// special is set once the arena holds a point at infinity; until then no
	// operand is one, unless it is found as two operands with equal x.
	special bool

	memory    []block8 // d, prefix, temp
	a, b, dst []Ref
	at        []uint32
	tail      []P // where the last, partial block of a Load goes
	careful   careful[P]
}

// NewG1 returns the Adder of G1 for processors with AVX-512 IFMA.
func NewG1() Adder[bls.G1Affine, PointG1] {
	return &ifma[bls.G1Affine, PointG1]{kernels: kernels[bls.G1Affine, PointG1]{1, forwardG1, backwardG1, loadG1}}
}

// NewG2 returns the Adder of G2 for processors with AVX-512 IFMA.
func NewG2() Adder[bls.G2Affine, PointG2] {
	return &ifma[bls.G2Affine, PointG2]{kernels: kernels[bls.G2Affine, PointG2]{2, forwardG2, backwardG2, loadG2}}
}

// Begin implements Adder.
func (k *ifma[A, P]) Begin() { k.special = false }

// Load implements Adder.
func (k *ifma[A, P]) Load(dst []P, src []A, at []uint32) {
	const piece = 1024
	n := len(at)
	if at == nil {
		n = len(src)
	}
	for from := 0; from < n; from += piece {
		m := min(piece, n-from)
		list := k.indices(at, from, m)
		whole := m / lanes
		if whole > 0 && k.load(&dst[from], &src[0], &list[0], whole) {
			k.special = true
		}
		if whole*lanes == m {
			continue
		}
		// The last block, filled up with its last point.
		k.tail = append(k.tail[:0], make([]P, lanes)...)
		if k.load(&k.tail[0], &src[0], &list[whole*lanes], 1) {
			k.special = true
		}
		copy(dst[from+whole*lanes:from+m], k.tail)
	}
}

// indices returns at[from:from+n], or the numbers themselves if at is nil,
// padded to whole blocks with the last one. It checks them against nothing:
// the loads below do not, so the caller's lists must be right.
func (k *ifma[A, P]) indices(at []uint32, from, n int) []uint32 {
	k.at = k.at[:0]
	for i := from; i < from+n; i++ {
		if at == nil {
			k.at = append(k.at, uint32(i))
		} else {
			k.at = append(k.at, at[i])
		}
	}
	for len(k.at)%lanes != 0 {
		k.at = append(k.at, k.at[n-1])
	}
	return k.at
}

// vectors returns the field elements of a point.
func (k *ifma[A, P]) vectors(p *P) []limbVector {
	// SAFETY: P is an array of 2·degree limbVectors.
	return unsafe.Slice((*limbVector)(unsafe.Pointer(p)), 2*k.degree)
}

// Store implements Adder.
func (k *ifma[A, P]) Store(p *P) (out A) {
	// SAFETY: A is 2·degree field elements of gnark-crypto.
	to := unsafe.Slice((*fp.Element)(unsafe.Pointer(&out)), 2*k.degree)
	for i, v := range k.vectors(p) {
		to[i] = fromLimbs(&v)
	}
	return out
}

// Move implements Adder.
func (k *ifma[A, P]) Move(arena []P, dst, src Ref) {
	arena[dst] = arena[src&^Neg]
	if src&Neg != 0 && !k.isInfinity(&arena[dst]) {
		k.negate(&arena[dst])
	}
}

// negate changes the sign of y: 2p - y, reduced.
func (k *ifma[A, P]) negate(p *P) {
	for i, v := range k.vectors(p)[k.degree:] {
		x := fromLimbs(&v)
		k.vectors(p)[k.degree+i] = toLimbs(x.Neg(&x))
	}
}

func (k *ifma[A, P]) isInfinity(p *P) bool {
	y := k.vectors(p)[k.degree:]
	if y[0][0] != 0 {
		return false // nearly always
	}
	var or uint64
	for _, v := range y {
		for _, limb := range v {
			or |= limb
		}
	}
	return or == 0
}

// Add implements Adder.
func (k *ifma[A, P]) Add(arena []P, pairs []Pair) {
	if k.special {
		pairs = k.splitOff(arena, pairs)
	}
	if len(pairs) == 0 {
		return
	}
	b := k.batch(arena, pairs)
	k.forward(&b)
	if k.invert(&b) {
		k.backward(&b)
		return
	}
	// Some pair has operands with the same x.
	k.Add(arena, k.splitOff(arena, pairs))
}

// batch lists the operands of the pairs in whole blocks. The last pair is
// repeated: all its copies are in one block, which is read before it is
// written.
func (k *ifma[A, P]) batch(arena []P, pairs []Pair) batch {
	blocks := (len(pairs) + lanes - 1) / lanes
	if n := (blocks + 2) * lanes; len(k.a) < n {
		// What stands before and after the refs is only prefetched, which
		// cannot fault.
		k.a, k.b, k.dst = make([]Ref, n), make([]Ref, n), make([]Ref, n)
	}
	a, b, dst := k.a[lanes:], k.b[lanes:], k.dst[lanes:]
	for i := range pairs {
		a[i], b[i], dst[i] = pairs[i].A, pairs[i].B, pairs[i].Dst
	}
	last := pairs[len(pairs)-1]
	for i := len(pairs); i < blocks*lanes; i++ {
		a[i], b[i], dst[i] = last.A, last.B, last.Dst
	}
	if need := scratchBlocks + k.degree*(3*blocks+1); len(k.memory) < need {
		k.memory = alignedBlocks(need)
	}
	temp, d := &k.memory[0], &k.memory[scratchBlocks]
	prefix := k.memory[scratchBlocks+2*k.degree*blocks:]
	prefix[0] = ones
	if k.degree == 2 {
		prefix[1] = block8{}
	}
	return batch{
		arena: unsafe.Pointer(unsafe.SliceData(arena)),
		a:     &k.a[lanes], b: &k.b[lanes], dst: &k.dst[lanes],
		blocks: blocks, d: d, prefix: &prefix[0], temp: temp,
	}
}

// alignedBlocks returns n blocks that start on a cache line.
func alignedBlocks(n int) []block8 {
	const line = 64
	raw := make([]uint64, (n+1)*limbs*lanes)
	skip := (line - int(uintptr(unsafe.Pointer(&raw[0]))%line)) % line / 8
	// SAFETY: the slice lies inside raw, which it keeps alive.
	return unsafe.Slice((*block8)(unsafe.Pointer(&raw[skip])), n)
}

// invert replaces the first scratch element by the inverse of the product of
// all denominators, lane by lane. It returns false if one is zero.
func (k *ifma[A, P]) invert(b *batch) bool {
	total := unsafe.Slice(b.prefix, k.degree*(b.blocks+1))[k.degree*b.blocks:]
	out := unsafe.Slice(b.temp, scratchBlocks)
	if k.degree == 1 {
		var x [lanes]fp.Element
		for i := range x {
			if x[i] = lane(&total[0], i); x[i].IsZero() {
				return false
			}
		}
		for i, inverse := range fp.BatchInvert(x[:]) {
			setLane(&out[0], i, &inverse)
		}
		return true
	}
	var x, prefix [lanes]bls.E2
	var product bls.E2
	product.SetOne()
	for i := range x {
		x[i].A0, x[i].A1 = lane(&total[0], i), lane(&total[1], i)
		if x[i].IsZero() {
			return false
		}
		prefix[i] = product
		product.Mul(&product, &x[i])
	}
	product.Inverse(&product)
	for i := lanes - 1; i >= 0; i-- {
		prefix[i].Mul(&prefix[i], &product)
		product.Mul(&product, &x[i])
		setLane(&out[0], i, &prefix[i].A0)
		setLane(&out[1], i, &prefix[i].A1)
	}
	return true
}

func lane(b *block8, i int) fp.Element {
	var v limbVector
	for j := range v {
		v[j] = b[j][i]
	}
	return fromLimbs(&v)
}

func setLane(b *block8, i int, x *fp.Element) {
	v := toLimbs(x)
	for j := range v {
		b[j][i] = v[j]
	}
}

var (
	// fromFactor makes x·2^384 of x·2^416: gnark-crypto's product divides by
	// 2^384, so the factor is 2^352 as it lies in memory, which is below p.
	fromFactor = fp.Element{5: 1 << 32}
	// toFactor makes x·2^416 of x·2^384: it is 2^416 mod p as it lies in
	// memory, so the field element 2^32.
	toFactor = fp.NewElement(1 << 32)

	// ones is the field element one in every lane.
	ones = func() (b block8) {
		one := fp.One()
		for i := range lanes {
			setLane(&b, i, &one)
		}
		return b
	}()
)

// fromLimbs returns the field element that v stands for.
func fromLimbs(v *limbVector) fp.Element {
	var x fp.Element
	for j, limb := range v {
		bit := j * limbBits
		word, shift := bit/64, bit%64
		if word < len(x) {
			x[word] |= limb << shift
		}
		if shift+limbBits > 64 && word+1 < len(x) {
			x[word+1] |= limb >> (64 - shift)
		}
	}
	if y, borrow := subtract(&x, &modulus.P); borrow == 0 {
		x = y
	}
	return *x.Mul(&x, &fromFactor)
}

func subtract(x *fp.Element, m *[6]uint64) (y fp.Element, borrow uint64) {
	for i := range y {
		y[i], borrow = bits.Sub64(x[i], m[i], borrow)
	}
	return y, borrow
}

// toLimbs undoes fromLimbs.
func toLimbs(x *fp.Element) (v limbVector) {
	var w fp.Element
	w.Mul(x, &toFactor)
	for j := range v {
		bit := j * limbBits
		word, shift := bit/64, bit%64
		if word >= len(w) {
			break
		}
		v[j] = w[word] >> shift
		if shift+limbBits > 64 && word+1 < len(w) {
			v[j] |= w[word+1] << (64 - shift)
		}
		v[j] &= 1<<limbBits - 1
	}
	return v
}
