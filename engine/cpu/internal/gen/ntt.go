package main

import "fmt"

// vectorBytes is the size of eight scalars, limb after limb: the type vector
// of package ntt.
const vectorBytes = 5 * limbBytes

// nttFile makes the kernels of package ntt. Scalars are below 1.3·r between
// passes.
func nttFile() string {
	a := new(asm)
	a.multipleTables(fr)
	a.words("even", []uint64{0, 2, 4, 6, 8, 10, 12, 14})
	a.words("odd", []uint64{1, 3, 5, 7, 9, 11, 13, 15})
	a.loadRows()
	a.pointwise()
	a.storeCoefficients()
	a.forward2()
	a.forward4()
	a.inverse2()
	a.inverse4()
	a.forwardLeaves()
	a.inverseLeaves()
	return header + a.data.String() + a.text.String()
}

// r5 lists five registers from the first.
func r5(first int) []int { return regs(first)[:5] }

// Registers beside those of a multiplication, which with five limbs takes
// Z0-Z4, Z8-Z13, Z17-Z24, Z28 and Z29.
var (
	// held keeps an operand over a multiplication.
	held = []int{14, 15, 16, 25, 26}
	// sum and difference of a butterfly, made after the multiplication.
	plus, minus = []int{0, 1, 2, 3, 4}, []int{5, 6, 7, 27, 31}
)

// butterfly sets plus = u + v and minus = u - v + 2r, limb by limb, for v
// below 2r.
func (a *asm) butterfly(u, v []int) {
	for j := range u {
		a.f("VPADDQ %s, %s, %s", z(v[j]), z(u[j]), z(plus[j]))
		a.f("VPSUBQ %s, %s, %s", z(v[j]), z(u[j]), z(minus[j]))
	}
	a.addMultiple(fr, minus, 2)
}

// finish reduces, normalizes and stores.
func (a *asm) finish(x []int, at string) {
	a.reduce(fr, x)
	a.normalize(x)
	a.store(x, at)
}

// advance moves on to the next vector, or leaves the loop.
func (a *asm) advance(step int, pointers ...string) {
	for _, p := range pointers {
		a.f("ADDQ $%d, %s", step, p)
	}
	a.f("DECQ BX")
	a.f("JNZ loop")
	a.f("VZEROUPPER")
	a.f("RET")
}

func (a *asm) forward2() {
	a.function("forward2Vectors sets (x0, x1) = (x0 + w·x1, x0 - w·x1).", "forward2Vectors", 32)
	a.f("MOVQ x0+0(FP), R8")
	a.f("MOVQ x1+8(FP), R9")
	a.f("MOVQ n+16(FP), BX")
	a.f("MOVQ w+24(FP), SI")
	a.loadConstants(fr)
	a.label("loop")
	a.load(r5(regB), "0(R9)")
	t := a.montgomery(fr, product{aSame: "0(SI)"})
	a.load(held, "0(R8)")
	a.butterfly(held, t)
	a.finish(plus, "0(R8)")
	a.finish(minus, "0(R9)")
	a.advance(vectorBytes, "R8", "R9")
}

func (a *asm) inverse2() {
	a.function("inverse2Vectors sets (x0, x1) = (x0 + x1, (x1 - x0)·w).", "inverse2Vectors", 32)
	a.f("MOVQ x0+0(FP), R8")
	a.f("MOVQ x1+8(FP), R9")
	a.f("MOVQ n+16(FP), BX")
	a.f("MOVQ w+24(FP), SI")
	a.loadConstants(fr)
	a.label("loop")
	a.load(r5(regB), "0(R9)")
	a.load(held, "0(R8)")
	a.sumAndDifference(held, r5(regB), 2)
	a.store(a.montgomery(fr, product{aSame: "0(SI)"}), "0(R9)")
	a.move(plus, held)
	a.finish(plus, "0(R8)")
	a.advance(vectorBytes, "R8", "R9")
}

// sumAndDifference sets u = u + v, limb by limb, and v = v - u + n·r,
// normalized.
func (a *asm) sumAndDifference(u, v []int, n int) {
	for j := range u {
		a.f("VPSUBQ %s, %s, %s", z(u[j]), z(v[j]), z(regT2))
		a.f("VPADDQ %s, %s, %s", z(v[j]), z(u[j]), z(u[j]))
		a.f("VMOVDQA64 %s, %s", z(regT2), z(v[j]))
	}
	a.addMultiple(fr, v, n)
	a.normalize(v)
}

// quarters loads the arguments of forward4 and inverse4.
func (a *asm) quarters() {
	a.f("MOVQ x0+0(FP), R8")
	a.f("MOVQ x1+8(FP), R9")
	a.f("MOVQ x2+16(FP), R10")
	a.f("MOVQ x3+24(FP), R11")
	a.f("MOVQ n+32(FP), BX")
	a.f("MOVQ w+40(FP), SI")
	a.loadConstants(fr)
}

// Twiddle factors of forward4 and inverse4: of the node and of its children.
const wNode, wLeft, wRight = "0(SI)", "40(SI)", "80(SI)"

func (a *asm) forward4() {
	a.function("forward4Vectors does forward2 on (x0, x2) and (x1, x3), then on (x0, x1) and (x2, x3).", "forward4Vectors", 48)
	a.quarters()
	a.label("loop")
	// The quarters themselves keep what is between the two layers: sums and
	// differences of x0 and x2 as they are, those of x1 and x3 normalized,
	// because they are multiplied next.
	a.load(r5(regB), "0(R10)")
	t := a.montgomery(fr, product{aSame: wNode})
	a.load(held, "0(R8)")
	a.butterfly(held, t)
	a.store(plus, "0(R8)")
	a.store(minus, "0(R10)")
	a.load(r5(regB), "0(R11)")
	t = a.montgomery(fr, product{aSame: wNode})
	a.load(held, "0(R9)")
	a.butterfly(held, t)
	a.normalize(minus)
	a.store(minus, "0(R11)")
	a.normalize(plus)

	t = a.montgomery(fr, product{aSame: wLeft}) // plus is in regB
	a.load(held, "0(R8)")
	a.butterfly(held, t)
	a.finish(plus, "0(R8)")
	a.finish(minus, "0(R9)")
	a.load(r5(regB), "0(R11)")
	t = a.montgomery(fr, product{aSame: wRight})
	a.load(held, "0(R10)")
	a.butterfly(held, t)
	a.finish(plus, "0(R10)")
	a.finish(minus, "0(R11)")
	a.advance(vectorBytes, "R8", "R9", "R10", "R11")
}

func (a *asm) inverse4() {
	a.function("inverse4Vectors does inverse2 on (x0, x1) and (x2, x3), then on (x0, x2) and (x1, x3).", "inverse4Vectors", 48)
	a.quarters()
	a.label("loop")
	for _, half := range []struct{ u, v, w string }{{"0(R8)", "0(R9)", wLeft}, {"0(R10)", "0(R11)", wRight}} {
		a.load(r5(regB), half.v)
		a.load(held, half.u)
		a.sumAndDifference(held, r5(regB), 2)
		a.store(held, half.u)
		a.store(a.montgomery(fr, product{aSame: half.w}), half.v)
	}
	for _, half := range []struct {
		u, v string
		n    int
	}{{"0(R8)", "0(R10)", 3}, {"0(R9)", "0(R11)", 2}} {
		a.load(r5(regB), half.v)
		a.load(held, half.u)
		a.sumAndDifference(held, r5(regB), half.n)
		a.store(a.montgomery(fr, product{aSame: wNode}), half.v)
		a.move(plus, held)
		a.finish(plus, half.u)
	}
	a.advance(vectorBytes, "R8", "R9", "R10", "R11")
}

func (a *asm) pointwise() {
	a.function("mulVectors sets dst[i] = x[i]·y[i]/R.", "mulVectors", 32)
	a.f("MOVQ dst+0(FP), R8")
	a.f("MOVQ x+8(FP), R9")
	a.f("MOVQ y+16(FP), R10")
	a.f("MOVQ n+24(FP), BX")
	a.loadConstants(fr)
	a.label("loop")
	a.load(r5(regB), "0(R10)")
	a.store(a.montgomery(fr, product{a: "0(R9)"}), "0(R8)")
	a.advance(vectorBytes, "R8", "R9", "R10")
}

// loadRows brings scalars of 4 words from eight places into a vector.
func (a *asm) loadRows() {
	a.function("loadVectors sets dst[i] to the scalars at the eight pointers from 8·i.", "loadVectors", 24)
	a.f("MOVQ dst+0(FP), R8")
	a.f("MOVQ rows+8(FP), R9")
	a.f("MOVQ n+16(FP), BX")
	a.loadConstants(fr)
	a.label("loop")
	// Two scalars to a register, i and i+4, then words to columns.
	for i := range 8 {
		a.f("MOVQ %d(R9), AX", 8*i)
		if i < 4 {
			a.f("VMOVDQU (AX), Y%d", i)
		} else {
			a.f("VINSERTI64X4 $1, (AX), %s, %[1]s", z(i-4))
		}
	}
	// Z0: [0: w0 w1 w2 w3 | 4: w0 w1 w2 w3], Z1: [1 | 5], Z2: [2 | 6], Z3: [3 | 7].
	a.f("VPUNPCKLQDQ Z1, Z0, Z4") // [0w0 1w0 0w2 1w2 | 4w0 5w0 4w2 5w2]
	a.f("VPUNPCKHQDQ Z1, Z0, Z5") // w1, w3
	a.f("VPUNPCKLQDQ Z3, Z2, Z6") // [2w0 3w0 2w2 3w2 | 6w0 ...]
	a.f("VPUNPCKHQDQ Z3, Z2, Z7")
	// Lanes of 128 bits: Z4 = [01w0, 01w2, 45w0, 45w2], Z6 = [23w0, 23w2, 67w0, 67w2].
	for odd := range 2 {
		a.f("VSHUFI64X2 $0x88, %s, %s, Z0", z(6+odd), z(4+odd)) // [01, 45, 23, 67] of w0 (w1)
		a.f("VSHUFI64X2 $0xdd, %s, %s, Z1", z(6+odd), z(4+odd)) // of w2 (w3)
		a.f("VSHUFI64X2 $0xd8, Z0, Z0, %s", z(8+odd))           // [01, 23, 45, 67]
		a.f("VSHUFI64X2 $0xd8, Z1, Z1, %s", z(10+odd))
	}
	a.relimb([]int{8, 9, 10, 11}, r5(0))
	a.store(r5(0), "0(R8)")
	a.f("ADDQ $64, R9")
	a.advance(vectorBytes, "R8")
}

// storeCoefficients makes canonical scalars of c - ab·ratio.
func (a *asm) storeCoefficients() {
	a.function("storeVectors sets h to the canonical (c - ab·ratio/R)·scale/R.", "storeVectors", 48)
	a.f("MOVQ h+0(FP), R8")
	a.f("MOVQ c+8(FP), R9")
	a.f("MOVQ ab+16(FP), R10")
	a.f("MOVQ n+24(FP), BX")
	a.f("MOVQ ratio+32(FP), SI")
	a.f("MOVQ scale+40(FP), DX")
	a.loadConstants(fr)
	a.label("loop")
	a.load(r5(regB), "0(R10)")
	t := a.montgomery(fr, product{aSame: "0(SI)"})
	a.reverseSubtract(t, "0(R9)")
	a.addMultiple(fr, t, 2)
	a.normalize(t)
	a.move(r5(regB), t)
	t = a.montgomery(fr, product{aSame: "0(DX)"})
	// t is below 2r: take t - r unless it is negative.
	d := []int{0, 1, 2, 3, 4}
	for j := range d {
		a.f("VPSUBQ %s, %s, %s", z(regP+j), z(t[j]), z(d[j]))
	}
	a.normalize(d)
	a.f("VPMOVQ2M %s, K1", z(d[4]))
	for j := range d {
		a.f("VMOVDQA64 %s, K1, %s", z(t[j]), z(d[j]))
	}
	a.words64(d, []int{8, 9, 10, 11})
	a.storeWords()
	a.f("ADDQ $256, R8")
	a.advance(vectorBytes, "R9", "R10")
}

// words64 packs five limbs into four words.
func (a *asm) words64(limbs, words []int) {
	for i, r := range words {
		first := true
		for j, limb := range limbs {
			switch shift := limbBits*j - 64*i; {
			case shift <= -limbBits || shift >= 64:
				continue
			case shift >= 0:
				a.f("VPSLLQ $%d, %s, %s", shift, z(limb), z(regT))
			default:
				a.f("VPSRLQ $%d, %s, %s", -shift, z(limb), z(regT))
			}
			if first {
				a.f("VMOVDQA64 %s, %s", z(regT), z(r))
				first = false
				continue
			}
			a.f("VPORQ %s, %s, %s", z(regT), z(r), z(r))
		}
	}
}

// storeWords stores columns w0-w3 in Z8-Z11 as eight scalars at R8.
func (a *asm) storeWords() {
	a.f("VPUNPCKLQDQ Z9, Z8, Z0")   // w0 w1 of scalars 0, 2, 4, 6
	a.f("VPUNPCKHQDQ Z9, Z8, Z1")   // of 1, 3, 5, 7
	a.f("VPUNPCKLQDQ Z11, Z10, Z2") // w2 w3 of 0, 2, 4, 6
	a.f("VPUNPCKHQDQ Z11, Z10, Z3")
	for odd := range 2 {
		for lane := range 4 {
			at := 32 * (2*lane + odd)
			a.f("VEXTRACTI64X2 $%d, %s, %d(R8)", lane, z(odd), at)
			a.f("VEXTRACTI64X2 $%d, %s, %d(R8)", lane, z(2+odd), at+16)
		}
	}
}

// place is one of eight vectors in the scratch memory at DI, column the
// transposed counterpart of a scalar's place in its vector; twiddle one of
// seven vectors of roots after them.
func place(i int) string   { return fmt.Sprintf("%d(DI)", vectorBytes*i) }
func twiddle(i int) string { return place(8 + i) }

// leaves loads the arguments of the functions for leaves and starts the loop.
func (a *asm) leaves(name, doc string) {
	a.function(doc, name, 40)
	a.loadConstants(fr)
	a.f("MOVQ x+0(FP), R8")
	a.f("MOVQ groups+8(FP), BX")
	a.f("MOVQ roots+16(FP), R13")
	a.f("MOVQ node+24(FP), AX")
	a.f("MOVQ scratch+32(FP), DI")
	// The roots of nodes j .. j+7, 2j .. 2j+15, 4j .. 4j+31.
	for i, r := range []string{"R9", "R10", "R11"} {
		a.f("IMUL3Q $%d, AX, %s", vectorBytes/8<<i, r)
		a.f("ADDQ R13, %s", r)
	}
	a.label("loop")
	a.roots()
	a.transposeVectors(func(v, l int) string { return fmt.Sprintf("%d(R8)", vectorBytes*v+64*l) },
		func(v, l int) string { return offset(place(v), 64*l) })
}

// endLeaves transposes back and ends the loop.
func (a *asm) endLeaves() {
	a.transposeVectors(func(v, l int) string { return offset(place(v), 64*l) },
		func(v, l int) string { return fmt.Sprintf("%d(R8)", vectorBytes*v+64*l) })
	for i, r := range []string{"R9", "R10", "R11"} {
		a.f("ADDQ $%d, %s", vectorBytes<<i, r)
	}
	a.advance(8*vectorBytes, "R8")
}

// transposeVectors makes vector v of lane l's of eight vectors, limb by limb.
func (a *asm) transposeVectors(from, to func(v, l int) string) {
	for l := range 5 {
		for v := range 8 {
			a.f("VMOVDQU64 %s, %s", from(v, l), z(v))
		}
		for v, r := range a.transpose() {
			a.f("VMOVDQU64 %s, %s", z(r), to(v, l))
		}
	}
}

// roots fills the twiddle vectors: 0 for nodes j+lane, 1 and 2 for their
// children 2(j+lane) + 0, 1, and 3-6 for their children 4(j+lane) + 0 .. 3.
func (a *asm) roots() {
	a.f("VMOVDQU64 even<>+0(SB), Z30")
	a.f("VMOVDQU64 odd<>+0(SB), Z31")
	// pick sets even and odd to every second of the sixteen words in lo, hi.
	// VPERMI2Q overwrites the index with the result.
	pick := func(lo, hi, even, odd int) {
		a.f("VMOVDQA64 Z30, %s", z(even))
		a.f("VPERMI2Q %s, %s, %s", z(hi), z(lo), z(even))
		a.f("VMOVDQA64 Z31, %s", z(odd))
		a.f("VPERMI2Q %s, %s, %s", z(hi), z(lo), z(odd))
	}
	for l := range 5 {
		a.f("VMOVDQU64 %d(R9), Z0", 64*l)
		a.f("VMOVDQU64 Z0, %s", offset(twiddle(0), 64*l))
		a.f("VMOVDQU64 %d(R10), Z0", 64*l)
		a.f("VMOVDQU64 %d(R10), Z1", vectorBytes+64*l)
		pick(0, 1, 2, 3)
		a.f("VMOVDQU64 Z2, %s", offset(twiddle(1), 64*l))
		a.f("VMOVDQU64 Z3, %s", offset(twiddle(2), 64*l))
		for v := range 4 {
			a.f("VMOVDQU64 %d(R11), %s", vectorBytes*v+64*l, z(v))
		}
		pick(0, 1, 4, 5) // places 0, 2 and 1, 3 of nodes j .. j+3
		pick(2, 3, 6, 7) // of nodes j+4 .. j+7
		pick(4, 6, 0, 2)
		pick(5, 7, 1, 3)
		for t := range 4 {
			a.f("VMOVDQU64 %s, %s", z(t), offset(twiddle(3+t), 64*l))
		}
	}
}

// layers lists the butterflies inside a vector, from the largest stride:
// places u and v, and the twiddle vector.
var layers = [3][4][3]int{
	{{0, 4, 0}, {1, 5, 0}, {2, 6, 0}, {3, 7, 0}},
	{{0, 2, 1}, {1, 3, 1}, {4, 6, 2}, {5, 7, 2}},
	{{0, 1, 3}, {2, 3, 4}, {4, 5, 5}, {6, 7, 6}},
}

func (a *asm) forwardLeaves() {
	a.leaves("forwardVectors", "forwardVectors does the last three layers, inside vectors, for groups of eight vectors.")
	for i, layer := range layers {
		for _, b := range layer {
			u, v := place(b[0]), place(b[1])
			a.load(r5(regB), v)
			t := a.montgomery(fr, product{a: twiddle(b[2])})
			a.load(held, u)
			a.butterfly(held, t)
			// Bounds grow by 2r a layer, from 1.3r to less than 7.4r.
			if i == len(layers)-1 {
				a.finish(plus, u)
				a.finish(minus, v)
				continue
			}
			a.normalize(plus)
			a.store(plus, u)
			a.normalize(minus)
			a.store(minus, v)
		}
	}
	a.endLeaves()
}

func (a *asm) inverseLeaves() {
	a.leaves("inverseVectors", "inverseVectors undoes forwardVectors, but for a factor of 8.")
	for i := len(layers) - 1; i >= 0; i-- {
		for _, b := range layers[i] {
			u, v := place(b[0]), place(b[1])
			a.load(r5(regB), v)
			a.load(held, u)
			a.sumAndDifference(held, r5(regB), 2)
			a.store(a.montgomery(fr, product{a: twiddle(b[2])}), v)
			a.move(plus, held)
			a.finish(plus, u)
		}
	}
	a.endLeaves()
}
