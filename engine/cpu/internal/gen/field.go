package main

import "fmt"

// Registers. A multiplication keeps the operand b in Z0-Z7 and the sum in
// nine registers that change roles from one limb to the next.
const (
	regB    = 0  // 8 registers
	regSum  = 8  // limbs+1 registers
	regA    = 17 // current limb of a
	regM    = 18 // current multiple of p
	regT    = 19 // scratch
	regP    = 20 // p, 8 registers, constant
	regInv  = 28 // -1/p mod 2^52, constant
	regMask = 29 // 2^52 - 1, constant
	regT2   = 30 // scratch
	regT3   = 31 // scratch
)

// loadConstants fills the constant registers, by way of AX.
func (a *asm) loadConstants(k field) {
	for j, w := range k.times(1) {
		a.f("MOVQ $%#x, AX", w)
		a.f("VPBROADCASTQ AX, %s", z(regP+j))
	}
	a.f("MOVQ $%#x, AX", k.negInverse())
	a.f("VPBROADCASTQ AX, %s", z(regInv))
	a.f("MOVQ $%#x, AX", uint64(1)<<limbBits-1)
	a.f("VPBROADCASTQ AX, %s", z(regMask))
}

// product is one a·b of a sum of products: a in memory at the operand a, or
// the same for all lanes at aSame, or a constant at the symbol aConst; b in
// registers from regB, or in memory at the operand b.
type product struct{ a, aSame, aConst, b string }

// montgomery sets the registers it returns to Σ products / R, normalized: Montgomery
// multiplication, limb by limb of a, low and high halves of 52-bit products
// added up without carries. With operands below 64p the result is below
// (1 + 2^-20)·p.
//
// Source: Montgomery 1985, in the operand-scanning form of Koç, Acar, Kaliski,
// "Analyzing and comparing Montgomery multiplication algorithms" (1996).
func (a *asm) montgomery(k field, products ...product) []int {
	n := k.limbs
	for j := range n + 1 {
		a.f("VPXORQ %s, %[1]s, %[1]s", z(regSum+j))
	}
	for i := range n {
		sum := func(j int) string { return z(regSum + (i+j)%(n+1)) }
		load := func(p product) {
			if p.aConst != "" {
				a.f("VPBROADCASTQ %s<>+%d(SB), %s", p.aConst, 8*i, z(regA))
				return
			}
			if p.aSame != "" {
				a.f("VPBROADCASTQ %s, %s", offset(p.aSame, 8*i), z(regA))
				return
			}
			a.f("VMOVDQU64 %s, %s", offset(p.a, 64*i), z(regA))
		}
		b := func(p product, j int) string {
			if p.b != "" {
				return offset(p.b, 64*j)
			}
			return z(regB + j)
		}
		// The lowest limb first: the multiple of p depends on it.
		for x, p := range products {
			load(p)
			a.f("VPMADD52LUQ %s, %s, %s", b(p, 0), z(regA), sum(0))
			if x == len(products)-1 {
				a.f("VPXORQ %s, %[1]s, %[1]s", z(regM))
				a.f("VPMADD52LUQ %s, %s, %s", z(regInv), sum(0), z(regM))
			}
			for j := 1; j < n; j++ {
				a.f("VPMADD52LUQ %s, %s, %s", b(p, j), z(regA), sum(j))
			}
			for j := range n {
				a.f("VPMADD52HUQ %s, %s, %s", b(p, j), z(regA), sum(j+1))
			}
		}
		for j := range n {
			a.f("VPMADD52LUQ %s, %s, %s", z(regP+j), z(regM), sum(j))
		}
		for j := range n {
			a.f("VPMADD52HUQ %s, %s, %s", z(regP+j), z(regM), sum(j+1))
		}
		// The lowest limb is a multiple of 2^52 now: pass its carry on and
		// take its register for the highest limb of the next round.
		a.f("VPSRLQ $%d, %s, %s", limbBits, sum(0), z(regT))
		a.f("VPADDQ %s, %s, %s", z(regT), sum(1), sum(1))
		if i < n-1 {
			a.f("VPXORQ %s, %[1]s, %[1]s", sum(0))
		}
	}
	out := make([]int, n)
	for j := range out {
		out[j] = regSum + (n+j)%(n+1)
	}
	a.normalize(out)
	return out
}

// normalize passes carries on, so that every limb but the last is in 0 ..
// 2^52-1. Limbs may be negative; the whole number must not be.
func (a *asm) normalize(x []int) {
	for j := range len(x) - 1 {
		a.f("VPSRAQ $%d, %s, %s", limbBits, z(x[j]), z(regT))
		a.f("VPANDQ %s, %s, %s", z(regMask), z(x[j]), z(x[j]))
		a.f("VPADDQ %s, %s, %s", z(regT), z(x[j+1]), z(x[j+1]))
	}
}

func (a *asm) load(x []int, at string) {
	for j, r := range x {
		a.f("VMOVDQU64 %s, %s", offset(at, 64*j), z(r))
	}
}

func (a *asm) store(x []int, at string) {
	for j, r := range x {
		a.f("VMOVDQU64 %s, %s", z(r), offset(at, 64*j))
	}
}

// offset is the operand n bytes after "off(REG)".
func offset(at string, n int) string {
	var off int
	var reg string
	if _, err := fmt.Sscanf(at, "%d(%s", &off, &reg); err != nil {
		panic("bad operand " + at)
	}
	return fmt.Sprintf("%d(%s", off+n, reg)
}

// addMultiple adds n·p limb by limb.
func (a *asm) addMultiple(k field, x []int, n int) {
	for j, r := range x {
		a.f("VPADDQ.BCST multiples<>+%d(SB), %s, %s", 8*(len(x)*n+j), z(r), z(r))
	}
}

// subtract sets x -= what lies at the operand, limb by limb.
func (a *asm) subtract(x []int, at string) {
	for j, r := range x {
		a.f("VPSUBQ %s, %s, %s", offset(at, 64*j), z(r), z(r))
	}
}

// maxMultiple is the largest multiple of p that reduce can take away.
const maxMultiple = 7

// reduce subtracts a multiple of p so that what is left, once normalized, is
// in 0 .. 1.001·p. The number must be in 0 .. 7.9·p, and each limb below
// 2^54.6 in absolute value.
//
// The highest limb tells the multiple: the lower ones add up to less than 8 of
// its units, and p has at least 2^16.7 of them, 2^14.8 after the shift.
func (a *asm) reduce(k field, x []int) {
	top := x[len(x)-1]
	a.f("VPSUBQ.BCST reciprocal<>+0(SB), %s, %s", z(top), z(regT2))
	a.f("VPMAXSQ.BCST multiples<>+0(SB), %s, %[1]s", z(regT2)) // with zero
	if k.topShift > 0 {
		a.f("VPSRLQ $%d, %s, %s", k.topShift, z(regT2), z(regT2))
	}
	a.f("VPMULUDQ.BCST reciprocal<>+8(SB), %s, %s", z(regT2), z(regT2))
	a.f("VPSRLQ $32, %s, %s", z(regT2), z(regT2))
	for j, r := range x {
		a.f("VPERMQ columns<>+%d(SB), %s, %s", 64*j, z(regT2), z(regT))
		a.f("VPSUBQ %s, %s, %s", z(regT), z(r), z(r))
	}
}

// multipleTables emits the constants of addMultiple and reduce.
func (a *asm) multipleTables(k field) {
	var rows, columns []uint64
	for n := range int64(maxMultiple + 1) {
		rows = append(rows, k.times(n)...)
	}
	for j := range k.limbs {
		for n := range maxMultiple + 1 {
			columns = append(columns, rows[k.limbs*n+j])
		}
	}
	top := k.times(1)[k.limbs-1]
	const slack = 8
	a.words("multiples", rows)
	a.words("columns", columns)
	a.words("reciprocal", []uint64{slack, (1 << 32) / (top>>k.topShift + 1)})
}

// transpose turns eight rows in Z0-Z7 into eight columns in the registers it
// returns: an 8×8 matrix of 64-bit words. Z0-Z15 are overwritten.
func (a *asm) transpose() []int {
	for i := 0; i < 8; i += 2 {
		a.f("VPUNPCKLQDQ %s, %s, %s", z(i+1), z(i), z(8+i))
		a.f("VPUNPCKHQDQ %s, %s, %s", z(i+1), z(i), z(9+i))
	}
	// Z8.. hold pairs of rows (0,1), (2,3), ...: even columns in Z8, Z10, Z12,
	// Z14, odd ones in Z9, Z11, Z13, Z15, four 128-bit lanes each.
	for odd := range 2 {
		a.f("VSHUFI64X2 $0x88, %s, %s, %s", z(10+odd), z(8+odd), z(0+4*odd))
		a.f("VSHUFI64X2 $0xdd, %s, %s, %s", z(10+odd), z(8+odd), z(1+4*odd))
		a.f("VSHUFI64X2 $0x88, %s, %s, %s", z(14+odd), z(12+odd), z(2+4*odd))
		a.f("VSHUFI64X2 $0xdd, %s, %s, %s", z(14+odd), z(12+odd), z(3+4*odd))
	}
	for odd := range 2 {
		a.f("VSHUFI64X2 $0x88, %s, %s, %s", z(2+4*odd), z(0+4*odd), z(8+0+odd))
		a.f("VSHUFI64X2 $0xdd, %s, %s, %s", z(2+4*odd), z(0+4*odd), z(8+4+odd))
		a.f("VSHUFI64X2 $0x88, %s, %s, %s", z(3+4*odd), z(1+4*odd), z(8+2+odd))
		a.f("VSHUFI64X2 $0xdd, %s, %s, %s", z(3+4*odd), z(1+4*odd), z(8+6+odd))
	}
	return []int{8, 9, 10, 11, 12, 13, 14, 15}
}
