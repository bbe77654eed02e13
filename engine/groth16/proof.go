package groth16

import bls "github.com/consensys/gnark-crypto/ecc/bls12-381"

// Proof is a Groth16 proof, affine and in Montgomery form. Its memory layout
// (384 bytes: A at 0, B at 96, C at 288) is that of bellperson's Proof.
type Proof struct {
	A bls.G1Affine
	B bls.G2Affine
	C bls.G1Affine
}

// VerifyingKey is the verifying key of a parameter file.
type VerifyingKey struct {
	AlphaG1 bls.G1Affine
	BetaG1  bls.G1Affine
	BetaG2  bls.G2Affine
	GammaG2 bls.G2Affine
	DeltaG1 bls.G1Affine
	DeltaG2 bls.G2Affine
	IC      []bls.G1Affine // one per input
}

// Sums are the five multi-scalar multiplications of one partition, the work a
// back end does. Source: ../../docs/glossary.md; Groth, eprint 2016/260 §3.2.
type Sums struct {
	H  bls.G1Jac // Σ h_i·[τ^i·t(τ)/δ], i < m-1
	L  bls.G1Jac // over aux
	A  bls.G1Jac // over inputs and a_aux
	B1 bls.G1Jac // over b_inputs and b_aux, in G1
	B2 bls.G2Jac // the same scalars in G2
}
