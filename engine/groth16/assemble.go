package groth16

import (
	"fmt"

	bls "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
)

// Assemble makes the proof of the five sums, blinded with r and s:
//
//	A = α + Σ_A + r·δ
//	B = β + Σ_B + s·δ                                    in G2
//	C = Σ_H + Σ_L + s·(α + Σ_A) + r·(β + Σ_B1) + r·s·δ
//	  = Σ_H + Σ_L + s·A + r·(β + Σ_B1)
//
// r and s are in Montgomery form; zero is allowed and hides nothing. Their
// bits do not choose the sequence of point operations, but the field
// arithmetic is not hardened against timing.
//
// Errors: ErrDeltaIdentity, ErrScalarRange.
// Source: Groth, eprint 2016/260 §3.2; the check of δ: Bowe, Gabizon,
// eprint 2018/187 (subversion of the parameters).
func Assemble(vk *VerifyingKey, sums *Sums, r, s *fr.Element) (*Proof, error) {
	if vk.DeltaG1.IsInfinity() || vk.DeltaG2.IsInfinity() {
		return nil, fmt.Errorf("groth16: %w", ErrDeltaIdentity)
	}
	if err := CheckScalar("r", -1, r); err != nil {
		return nil, err
	}
	if err := CheckScalar("s", -1, s); err != nil {
		return nil, err
	}

	var g bls.G1Jac
	a := mulG1(g.FromAffine(&vk.DeltaG1), r)
	a.AddMixed(&vk.AlphaG1).AddAssign(&sums.A)

	var g2 bls.G2Jac
	b := mulG2(g2.FromAffine(&vk.DeltaG2), s)
	b.AddMixed(&vk.BetaG2).AddAssign(&sums.B2)

	b1 := sums.B1
	b1.AddMixed(&vk.BetaG1)
	c, sa, rb := sums.H, mulG1(&a, s), mulG1(&b1, r)
	c.AddAssign(&sums.L).AddAssign(&sa).AddAssign(&rb)

	p := new(Proof)
	p.A.FromJacobian(&a)
	p.B.FromJacobian(&b)
	p.C.FromJacobian(&c)
	return p, nil
}

// windowBits is the width of the fixed windows below: 4 divides the 64 bits
// of a limb, and 16 table entries cost little to make.
const windowBits = 4

// mulG1 returns k·p. No endomorphism: it would be wrong for a point outside
// the subgroup, and the parameters' points need not have been checked for it.
func mulG1(p *bls.G1Jac, k *fr.Element) bls.G1Jac {
	var table [1 << windowBits]bls.G1Jac // table[0] is infinity: Z = 0
	for i := 1; i < len(table); i++ {
		table[i].Set(&table[i-1]).AddAssign(p)
	}
	var sum bls.G1Jac
	var digits [scalarWindows]uint8
	windows(k, &digits)
	defer clear(digits[:])
	for _, digit := range digits {
		for range windowBits {
			sum.DoubleAssign()
		}
		sum.AddAssign(&table[digit])
	}
	return sum
}

// mulG2 is mulG1 in G2.
func mulG2(p *bls.G2Jac, k *fr.Element) bls.G2Jac {
	var table [1 << windowBits]bls.G2Jac
	for i := 1; i < len(table); i++ {
		table[i].Set(&table[i-1]).AddAssign(p)
	}
	var sum bls.G2Jac
	var digits [scalarWindows]uint8
	windows(k, &digits)
	defer clear(digits[:])
	for _, digit := range digits {
		for range windowBits {
			sum.DoubleAssign()
		}
		sum.AddAssign(&table[digit])
	}
	return sum
}

// scalarWindows is the number of windows of a scalar.
const scalarWindows = 256 / windowBits

// windows splits the canonical value of k into digits, the highest first, and
// leaves no other copy of it.
func windows(k *fr.Element, digits *[scalarWindows]uint8) {
	canonical := k.Bits()
	for i := range digits {
		bit := i * windowBits
		digits[len(digits)-1-i] = uint8(canonical[bit/64]>>(bit%64)) & (1<<windowBits - 1)
	}
	clear(canonical[:])
}
