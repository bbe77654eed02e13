package launch

import (
	"fmt"
	"math/big"
	"unsafe"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/libcuzk/libcuzk/cuda/driver"
)

// Twins of the constants in ntt/ntt.cu and ntt/fr.cu.
const (
	logStages   = 9  // the largest number of stages of a launch
	logLocal    = 10 // log2 of the order of the root for factors inside a launch
	logHigh     = 18 // log2 of the powers in the table that all domains share
	logBatch    = 10 // log2 of the elements that a block holds
	powersEach  = 8  // elements that a thread of cuzk_fr_powers makes
	maxSideLog  = 4  // log2 of the side of the squares of cuzk_fr_reverse
	maxLogRoots = 32 // r - 1 = 2^32 * odd
	// MaxLogSize bounds the domain: indices and exponents below 2m are u32.
	MaxLogSize = 28
)

var (
	kernelPowers  = declare[powersArgs]("fr", "cuzk_fr_powers", 128)
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

type twiddles struct {
	low, high              uint64
	logSize, split, spread uint32
	_                      uint32
}

type eighths struct {
	quarter, sum, difference Fr
}

type nttArgs struct {
	eighths        eighths
	data, local    uint64
	roots          twiddles
	done, stages   uint32
	inverse, coset uint32
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

// Tables are the roots of unity for one domain size, in device memory.
type Tables struct {
	LogSize uint32
	memory  Range
}

// TableBytes is the memory of the tables for domains of up to 2^logSize, which
// have most of it in common.
func TableBytes(logSize uint32) uint64 {
	bytes := uint64(FrBytes<<logHigh + FrBytes<<logLocal)
	for log := uint32(logHigh); log <= max(logSize, logHigh); log++ {
		bytes += lowBytes(log)
	}
	return bytes
}

// splitOf is where exponents of the root g of order 2m are split. Its first m
// powers are products of one of 2^split low powers and one of the high powers;
// the others are their negatives. The factors between launches have exponents
// that are multiples of 2^done, so the high powers are enough once done reaches
// the split: in small domains, and up to 2^27 from the second launch on.
func splitOf(logSize uint32) uint32 { return max(logSize, logHigh) - logHigh }

func lowBytes(logSize uint32) uint64 { return align(FrBytes << splitOf(logSize)) }

// NewTables makes tables for the domain of 2^logSize in memory of TableBytes; the
// calls fill it. Memory with the tables of one domain may be filled for others
// too: what they share stays as it is.
func NewTables(logSize uint32, memory Range) (Tables, []Call) {
	if logSize > MaxLogSize {
		panic(fmt.Sprintf("BUG: launch: domain of 2^%d, at most 2^%d", logSize, MaxLogSize))
	}
	t := Tables{logSize, memory}
	low, high, local := t.parts()
	one := fr.One()
	return t, []Call{
		Powers(low, Root(logSize+1), one, 0, 1, 1<<splitOf(logSize)),
		Powers(high, Root(logHigh+1), one, 0, 1, 1<<logHigh),
		Powers(local, Root(logLocal), one, 0, 1, 1<<logLocal),
	}
}

// parts are the domain's low powers, which small domains share, and the two tables
// of all domains.
func (t Tables) parts() (low, high, local Range) {
	l := Layout{Whole: t.memory}
	high, local = l.Take(FrBytes<<logHigh), l.Take(FrBytes<<logLocal)
	for log := uint32(logHigh); log < t.LogSize; log++ {
		l.Take(lowBytes(log))
	}
	return l.Take(lowBytes(t.LogSize)), high, local
}

func (t Tables) twiddles() (twiddles, []driver.Range) {
	low, high, local := t.parts()
	split := splitOf(t.LogSize)
	return twiddles{low: low.Addr, high: high.Addr, logSize: t.LogSize, split: split, spread: logHigh + split - t.LogSize},
		[]driver.Range{low.touched(driver.Read), high.touched(driver.Read), local.touched(driver.Read)}
}

// Direction of a transform: exponents of w, or of w^-1.
type Direction uint32

const (
	Forward Direction = 0
	Inverse Direction = 1
)

// passes divides the stages of a transform among launches, as evenly as possible.
// Every launch but the last then has at least as many neighbouring columns as a
// block holds.
func passes(logSize uint32) []uint32 {
	n := (logSize + logStages - 1) / logStages
	var p []uint32
	for left := logSize; n > 0; n-- {
		stages := (left + n - 1) / n
		p = append(p, stages)
		left -= stages
	}
	return p
}

// DIF transforms data in place from natural to bit-reversed order, unscaled.
// With coset, element f of the result (in natural order) is then multiplied by
// g^f, or g^-f for Inverse, where g is Root(LogSize + 1).
func (t Tables) DIF(data Range, d Direction, coset bool) []Call {
	var calls []Call
	var done uint32
	for _, stages := range passes(t.LogSize) {
		calls = append(calls, t.pass(kernelDIF, data, done, stages, d, coset))
		done += stages
	}
	return calls
}

// DIT transforms data in place from bit-reversed to natural order, unscaled.
// With coset, element i (in natural order) is first multiplied by g^i, or g^-i
// for Inverse.
func (t Tables) DIT(data Range, d Direction, coset bool) []Call {
	var calls []Call
	done := t.LogSize
	p := passes(t.LogSize)
	for i := len(p) - 1; i >= 0; i-- {
		done -= p[i]
		calls = append(calls, t.pass(kernelDIT, data, done, p[i], d, coset))
	}
	return calls
}

func (t Tables) pass(k *Kernel, data Range, done, stages uint32, d Direction, coset bool) Call {
	roots, access := t.twiddles()
	_, _, local := t.parts()
	args := nttArgs{
		data: data.Addr, local: local.Addr, roots: roots,
		done: done, stages: stages, inverse: uint32(d), eighths: eighthsOf(d),
	}
	if coset {
		args.coset = 1
	}
	grid := uint32(1)
	if t.LogSize > logBatch {
		grid = 1 << (t.LogSize - logBatch)
	}
	return gridCall(k, grid, 1, args, append(access, updates(data, FrBytes<<t.LogSize))...)
}

// eighthsOf makes the constants of a transform of 8 elements: of the root w of
// order 8, or its inverse, w^2 and (w +- w^3) / 2.
func eighthsOf(d Direction) eighths {
	w := Root(3)
	if d == Inverse {
		w.Inverse(&w)
	}
	var square, cube, sum, difference fr.Element
	square.Square(&w)
	cube.Mul(&square, &w)
	sum.Add(&w, &cube)
	sum.Halve()
	difference.Sub(&w, &cube)
	difference.Halve()
	return eighths{FromElement(square), FromElement(sum), FromElement(difference)}
}
