package synth

import (
	"io"
	"math/big"

	bls "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/libcuzk/libcuzk/engine/groth16"
	"github.com/libcuzk/libcuzk/engine/srs"
	"github.com/libcuzk/libcuzk/internal/circuits/gv"
)

// VerifyingKey is the verifying key, of which ic may be long.
func (e *Exponents) VerifyingKey() *groth16.VerifyingKey {
	g1 := multiplyG1([]fr.Element{e.Alpha, e.Beta, e.Delta}, e.IC)
	g2 := multiplyG2([]fr.Element{e.Beta, e.Gamma, e.Delta})
	return &groth16.VerifyingKey{
		AlphaG1: g1[0][0], BetaG1: g1[0][1], DeltaG1: g1[0][2], IC: g1[1],
		BetaG2: g2[0], GammaG2: g2[1], DeltaG2: g2[2],
	}
}

// Points are the points of all sections.
func (e *Exponents) Points() *srs.Points {
	g1 := multiplyG1(e.H, e.L, e.A, e.B)
	return &srs.Points{H: g1[0], L: g1[1], A: g1[2], BG1: g1[3], BG2: multiplyG2(e.B)}
}

// Params makes the circuit's parameter set, on all cores and on the Go heap.
// It is made anew by each call.
func (c *Circuit) Params() (*srs.Params, error) {
	e := c.Exponents()
	return srs.New(e.VerifyingKey(), e.Points())
}

// WriteParams writes the parameter set as a file.
func (c *Circuit) WriteParams(w io.Writer) error {
	e := c.Exponents()
	return srs.Write(w, e.VerifyingKey(), e.Points())
}

// WriteGV writes the assignment as a .gv file with this r and s. The proof is
// filled in unless the witness is spoilt.
func (c *Circuit) WriteGV(w io.Writer, r, s fr.Element) error {
	f := gv.File{Assignment: c.assignment, C: c.C(), R: r, S: s}
	if !c.shape.Spoil {
		proof := c.ExpectedProof(r, s)
		f.Proof = &proof
	}
	return f.Write(w)
}

// ExpectedProof is the proof that a prover must give for this r and s. It is
// computed from the trapdoor, without a transform or a sum over points:
//
//	A = α + a(τ) + r·δ;  B = β + b(τ) + s·δ
//	C = s·a(τ) + r·b(τ) + r·s·δ + s·α + r·β + h(τ)·t(τ)/δ + Σ aux_j·l_j
//	h(τ)·t(τ) = a(τ)·b(τ) - (a·b)(τ)
//
// For a spoilt witness it is what comes out if c is taken to be a·b, an
// invalid proof.
func (c *Circuit) ExpectedProof(r, s fr.Element) groth16.Proof {
	c.evaluated.Do(func() { _, c.evaluation = c.evaluate() })
	ev, t := &c.evaluation, &c.trapdoor

	a, b := t.alpha, t.beta
	a.Add(&a, &ev.a)
	addProduct(&a, &r, &t.delta)
	b.Add(&b, &ev.b)
	addProduct(&b, &s, &t.delta)

	var h, cc, rs fr.Element
	h.Mul(&ev.a, &ev.b).Sub(&h, &ev.ab).Mul(&h, &t.deltaInverse)
	cc.Add(&h, &ev.l)
	addProduct(&cc, &s, &ev.a)
	addProduct(&cc, &r, &ev.b)
	addProduct(&cc, rs.Mul(&r, &s), &t.delta)
	addProduct(&cc, &s, &t.alpha)
	addProduct(&cc, &r, &t.beta)
	return groth16.Proof{A: timesG1(&a), B: timesG2(&b), C: timesG1(&cc)}
}

func timesG1(k *fr.Element) (p bls.G1Affine) {
	return *p.ScalarMultiplicationBase(k.BigInt(new(big.Int)))
}

func timesG2(k *fr.Element) (p bls.G2Affine) {
	return *p.ScalarMultiplicationBase(k.BigInt(new(big.Int)))
}
