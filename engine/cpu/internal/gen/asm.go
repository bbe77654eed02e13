package main

import (
	"fmt"
	"math/big"
	"strings"
)

// asm collects the text of an assembly file.
type asm struct {
	text strings.Builder
	data strings.Builder
}

// f emits one instruction.
func (a *asm) f(format string, args ...any) { fmt.Fprintf(&a.text, "\t"+format+"\n", args...) }

// comment emits a comment line.
func (a *asm) comment(format string, args ...any) {
	fmt.Fprintf(&a.text, "\t// "+format+"\n", args...)
}

func (a *asm) label(name string) { fmt.Fprintf(&a.text, "%s:\n", name) }

// function starts a function; go vet wants the argument size to match the Go
// declaration.
func (a *asm) function(doc, name string, argBytes int) {
	fmt.Fprintf(&a.text, "\n// %s\nTEXT ·%s(SB), NOSPLIT, $0-%d\n", doc, name, argBytes)
}

// subroutine starts a function that only this file calls, with its operands
// in registers.
func (a *asm) subroutine(doc, name string) {
	fmt.Fprintf(&a.text, "\n// %s\nTEXT %s<>(SB), NOSPLIT|NOFRAME, $0-0\n", doc, name)
}

// words emits a table of 64-bit constants.
func (a *asm) words(name string, words []uint64) {
	for i, w := range words {
		fmt.Fprintf(&a.data, "DATA %s<>+%d(SB)/8, $%#x\n", name, 8*i, w)
	}
	// The linker aligns symbols of 64 bytes and more well enough for loads of
	// whole vectors not to matter; tables are read rarely.
	fmt.Fprintf(&a.data, "GLOBL %s<>(SB), RODATA|NOPTR, $%d\n", name, 8*len(words))
}

// z is the name of a vector register.
func z(i int) string { return fmt.Sprintf("Z%d", i) }

// field is a prime field held in limbs of 52 bits, one 512-bit vector for each
// limb of eight elements.
type field struct {
	p     *big.Int
	limbs int
	// topShift is how far the highest limb is shifted in reduce, so that it
	// fits in 32 bits with room for small multiples of p.
	topShift int
}

const limbBits = 52

func hexInt(s string) *big.Int {
	n, ok := new(big.Int).SetString(s, 16)
	if !ok {
		panic("bad constant " + s)
	}
	return n
}

// fp and fr are the base and the scalar field of BLS12-381.
var (
	fp = field{hexInt("1a0111ea397fe69a4b1ba7b6434bacd764774b84f38512bf6730d2a0f6b0f6241eabfffeb153ffffb9feffffffffaaab"), 8, 0}
	fr = field{hexInt("73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001"), 5, 32}
)

// split returns the limbs of n.
func (k field) split(n *big.Int) []uint64 {
	mask := big.NewInt(1<<limbBits - 1)
	out := make([]uint64, k.limbs)
	rest := new(big.Int).Set(n)
	for i := range out {
		out[i] = new(big.Int).And(rest, mask).Uint64()
		rest.Rsh(rest, limbBits)
	}
	if rest.Sign() != 0 {
		panic("constant too large")
	}
	return out
}

// times returns the limbs of n·p.
func (k field) times(n int64) []uint64 {
	return k.split(new(big.Int).Mul(k.p, big.NewInt(n)))
}

// pow2 returns the limbs of 2^n mod p.
func (k field) pow2(n int) []uint64 {
	return k.split(new(big.Int).Exp(big.NewInt(2), big.NewInt(int64(n)), k.p))
}

// negInverse is -1/p mod 2^52.
func (k field) negInverse() uint64 {
	base := new(big.Int).Lsh(big.NewInt(1), limbBits)
	inverse := new(big.Int).ModInverse(k.p, base)
	return new(big.Int).Sub(base, inverse).Uint64()
}
