package groth16

import (
	"fmt"

	"github.com/consensys/gnark-crypto/ecc"
	bls "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
)

// PreparedKey is a verifying key with the parts of the pairing equation that
// do not depend on the proof. About 50 KB; read only, so safe for concurrent
// use.
type PreparedKey struct {
	ic        []bls.G1Affine
	alphaBeta bls.GT     // e(α, β)
	lines     [2]g2Lines // of γ and δ
}

// g2Lines are the line functions of the Miller loop for one fixed point.
type g2Lines = [2][len(bls.LoopCounter) - 1]bls.LineEvaluationAff

// Prepare checks that δ is not at infinity and computes the fixed parts of the
// pairing equation, once for a parameter set.
func Prepare(vk *VerifyingKey) (*PreparedKey, error) {
	if vk.DeltaG1.IsInfinity() || vk.DeltaG2.IsInfinity() {
		return nil, fmt.Errorf("groth16: %w", ErrDeltaIdentity)
	}
	alphaBeta, err := bls.Pair([]bls.G1Affine{vk.AlphaG1}, []bls.G2Affine{vk.BetaG2})
	if err != nil {
		return nil, fmt.Errorf("groth16: pairing of alpha and beta: %w", err)
	}
	return &PreparedKey{
		ic:        vk.IC,
		alphaBeta: alphaBeta,
		lines:     [2]g2Lines{bls.PrecomputeLines(vk.GammaG2), bls.PrecomputeLines(vk.DeltaG2)},
	}, nil
}

// Verify checks the points of p and the equation
//
//	e(A, B) = e(α, β) · e(Σ inputs_i·ic_i, γ) · e(C, δ)
//
// inputs are all public inputs with the leading one, in Montgomery form. A
// point at infinity is an element of the group like any other, and the equation
// decides: the proof of a circuit without constraints, with r = s = 0, has one.
// Errors: ErrInputCount, ErrScalarRange, ErrProofPoint, ErrProofInvalid.
// Source: Groth, eprint 2016/260 §3.2.
func (k *PreparedKey) Verify(inputs []fr.Element, p *Proof) error {
	if len(inputs) != len(k.ic) {
		return fmt.Errorf("groth16: %w: %d given, the key has %d", ErrInputCount, len(inputs), len(k.ic))
	}
	for i := range inputs {
		if err := CheckScalar("inputs", i, &inputs[i]); err != nil {
			return err
		}
	}
	if err := p.checkSubgroups(); err != nil {
		return err
	}
	ic, err := sumIC(k.ic, inputs)
	if err != nil {
		return err
	}

	// e(-A, B)·e(ic, γ)·e(C, δ)·e(α, β) = 1, with one final exponentiation for
	// the first three. Both loops give a pair with a point at infinity a factor
	// that the final exponentiation makes one.
	var negA bls.G1Affine
	negA.Neg(&p.A)
	variable, err := bls.MillerLoop([]bls.G1Affine{negA}, []bls.G2Affine{p.B})
	if err != nil {
		return fmt.Errorf("groth16: Miller loop of A and B: %w", err)
	}
	lines := k.lines // a copy: the loop below scales the lines in place
	fixed, err := bls.MillerLoopFixedQ([]bls.G1Affine{ic, p.C}, lines[:])
	if err != nil {
		return fmt.Errorf("groth16: Miller loop of the inputs and C: %w", err)
	}
	result := bls.FinalExponentiation(&variable, &fixed)
	if !result.Mul(&result, &k.alphaBeta).IsOne() {
		return fmt.Errorf("groth16: %w", ErrProofInvalid)
	}
	return nil
}

// Verify is Prepare and Verify in one call, for a single proof.
func Verify(vk *VerifyingKey, inputs []fr.Element, p *Proof) error {
	k, err := Prepare(vk)
	if err != nil {
		return err
	}
	return k.Verify(inputs, p)
}

// sumIC returns Σ inputs_i·ic_i. The endomorphism inside MultiExp is not used
// by its bucket method, so unchecked points are fine.
func sumIC(ic []bls.G1Affine, inputs []fr.Element) (bls.G1Affine, error) {
	var sum bls.G1Affine
	if _, err := sum.MultiExp(ic, inputs, ecc.MultiExpConfig{}); err != nil {
		return sum, fmt.Errorf("groth16: sum over %d inputs: %w", len(inputs), err)
	}
	return sum, nil
}
