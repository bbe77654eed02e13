package launch

import (
	"fmt"
	"math/big"
	"unsafe"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
)

// Twins of the constants in ntt/ntt.cu and ntt/fr.cu.
const (
	logLocal    = 9  // stages a launch does at most
	logTile     = 10 // elements a block holds
	powersEach  = 8  // elements a thread of cuzk_fr_powers makes
	maxSideLog  = 4  // of the squares of cuzk_fr_reverse
	maxLogRoots = 32 // r - 1 = 2^32 * odd
	// MaxLogSize bounds the domain: indices and exponents below 2m are u32.
	MaxLogSize = 28
)

var (
	kernelPowers  = declare[powersArgs]("fr", "cuzk_fr_powers", 128)
	kernelInvert  = declare[invertArgs]("fr", "cuzk_fr_invert", 128)
	kernelRows    = declare[rowsArgs]("fr", "cuzk_quotient_rows", 256)
	kernelProduct = declare[productArgs]("fr", "cuzk_fr_product", 256)
	kernelCombine = declare[combineArgs]("fr", "cuzk_quotient_combine", 256)
	kernelReverse = declare[reverseArgs]("fr", "cuzk_fr_reverse", 256)
	kernelDIF     = declare[nttArgs]("ntt", "cuzk_ntt_dif", 128)
	kernelDIT     = declare[nttArgs]("ntt", "cuzk_ntt_dit", 128)
)

type powersArgs struct {
	base, scale Fr
	out         uint64
	first, step uint64
	n, _        uint32
}

type invertArgs struct {
	v, products uint64
	n, _        uint32
}

type twiddles struct {
	low, high uint64
	split, _  uint32
}

type nttArgs struct {
	data, local           uint64
	roots                 twiddles
	logSize, done, stages uint32
	inverse, coset        uint32
	_                     uint32
}

// FromElement is x as the device has it.
func FromElement(x fr.Element) Fr {
	// SAFETY: both are 32 bytes of little-endian limbs in Montgomery form.
	return *(*Fr)(unsafe.Pointer(&x))
}

// Root is the root of unity of order 2^log used everywhere: 7^((r-1) / 2^log).
func Root(log uint32) fr.Element {
	if log > maxLogRoots {
		panic(fmt.Sprintf("BUG: launch: no root of unity of order 2^%d", log))
	}
	exponent := new(big.Int).Sub(fr.Modulus(), big.NewInt(1))
	exponent.Rsh(exponent, uint(log))
	var g fr.Element
	g.SetUint64(7)
	g.Exp(g, exponent)
	return g
}

// Powers writes out[i] = scale * base^(first + i step) for i < n.
func Powers(out Range, base, scale fr.Element, first, step uint64, n uint32) Call {
	return call(kernelPowers, uint64(blocks(uint64(n), powersEach)), powersArgs{
		base: FromElement(base), scale: FromElement(scale), out: out.Addr, first: first, step: step, n: n,
	}, writes(out, uint64(n)*FrBytes))
}

// invertEach is how many elements share an inversion, which costs as much as
// about 380 products.
const invertEach = 64

// Invert replaces v[i] by 1 / v[i], and leaves 0. products is scratch of the
// same size as v.
func Invert(v, products Range, n uint32) Call {
	bytes := uint64(n) * FrBytes
	return call(kernelInvert, uint64(blocks(uint64(n), invertEach)),
		invertArgs{v: v.Addr, products: products.Addr, n: n}, updates(v, bytes), updates(products, bytes))
}

// Tables are the roots of unity for one domain size, in device memory.
type Tables struct {
	LogSize uint32
	memory  Range
}

// TableBytes is the memory of the tables for domains of 2^logSize.
func TableBytes(logSize uint32) uint64 {
	low, high := tableLengths(logSize)
	return align(low*FrBytes) + align(high*FrBytes) + align(FrBytes<<logLocal)
}

// tableLengths: the 2m powers of the root g of order 2m are the products of
// one of low and one of high.
func tableLengths(logSize uint32) (low, high uint64) {
	split := (logSize + 2) / 2
	return 1 << split, 1 << (logSize + 1 - split)
}

// NewTables names memory of TableBytes for the domain of 2^logSize; the calls
// fill it.
func NewTables(logSize uint32, memory Range) (Tables, []Call) {
	if logSize > MaxLogSize {
		panic(fmt.Sprintf("BUG: launch: domain of 2^%d, at most 2^%d", logSize, MaxLogSize))
	}
	t := Tables{logSize, memory}
	low, high, local := t.parts()
	lowN, highN := tableLengths(logSize)
	g, one := Root(logSize+1), fr.One()
	return t, []Call{
		Powers(low, g, one, 0, 1, uint32(lowN)),
		Powers(high, g, one, 0, lowN, uint32(highN)),
		Powers(local, Root(logLocal), one, 0, 1, 1<<logLocal),
	}
}

func (t Tables) parts() (low, high, local Range) {
	l := layout{whole: t.memory}
	lowN, highN := tableLengths(t.LogSize)
	return l.take(lowN * FrBytes), l.take(highN * FrBytes), l.take(FrBytes << logLocal)
}

func (t Tables) twiddles() (twiddles, []Access) {
	low, high, local := t.parts()
	return twiddles{low: low.Addr, high: high.Addr, split: (t.LogSize + 2) / 2},
		[]Access{{low, Read}, {high, Read}, {local, Read}}
}

// Direction of a transform: exponents of w, or of w^-1.
type Direction uint32

// The directions.
const (
	Forward Direction = 0
	Inverse Direction = 1
)

// passes splits the stages of a transform over launches, as evenly as can be:
// every pass but the last then has at least as many neighbouring columns as a
// block holds.
func passes(logSize uint32) []uint32 {
	n := (logSize + logLocal - 1) / logLocal
	var p []uint32
	for left := logSize; n > 0; n-- {
		stages := (left + n - 1) / n
		p = append(p, stages)
		left -= stages
	}
	return p
}

// DIF transforms data in place from natural to bit-reversed order, unscaled.
func (t Tables) DIF(data Range, d Direction) []Call {
	var calls []Call
	var done uint32
	for _, stages := range passes(t.LogSize) {
		calls = append(calls, t.pass(kernelDIF, data, done, stages, d, 0))
		done += stages
	}
	return calls
}

// DIT transforms data in place from bit-reversed to natural order, unscaled.
// With coset, element i (in natural order) is first multiplied by g^i, where g
// is Root(LogSize + 1).
func (t Tables) DIT(data Range, d Direction, coset bool) []Call {
	var calls []Call
	done := t.LogSize
	p := passes(t.LogSize)
	for i := len(p) - 1; i >= 0; i-- {
		done -= p[i]
		var shift uint32
		if coset && i == len(p)-1 {
			shift = 1
		}
		calls = append(calls, t.pass(kernelDIT, data, done, p[i], d, shift))
	}
	return calls
}

func (t Tables) pass(k *Kernel, data Range, done, stages uint32, d Direction, coset uint32) Call {
	roots, access := t.twiddles()
	_, _, local := t.parts()
	args := nttArgs{
		data: data.Addr, local: local.Addr, roots: roots,
		logSize: t.LogSize, done: done, stages: stages, inverse: uint32(d), coset: coset,
	}
	grid := uint32(1)
	if t.LogSize > logTile {
		grid = 1 << (t.LogSize - logTile)
	}
	return gridCall(k, grid, 1, args, append(access, updates(data, FrBytes<<t.LogSize))...)
}
