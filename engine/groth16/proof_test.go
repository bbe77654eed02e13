package groth16

import (
	"bytes"
	"math/big"
	"testing"

	bls "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fp"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/internal/modulus"
)

// instance is a key with a known trapdoor, two inputs, and sums that make a
// valid proof with it.
type instance struct {
	vk     VerifyingKey
	sums   Sums
	inputs []fr.Element
}

func random() fr.Element {
	var x fr.Element
	x.MustSetRandom()
	return x
}

func g1(x fr.Element) bls.G1Affine {
	_, _, g, _ := bls.Generators()
	return *g.ScalarMultiplication(&g, x.BigInt(new(big.Int)))
}

func g2(x fr.Element) bls.G2Affine {
	_, _, _, g := bls.Generators()
	return *g.ScalarMultiplication(&g, x.BigInt(new(big.Int)))
}

// newInstance picks everything at random but Σ_H, which follows from
// (α+a)(β+b) = αβ + ic·γ + (h+l)·δ.
func newInstance() *instance {
	alpha, beta, gamma, delta := random(), random(), random(), random()
	a, b, l, ic0, ic1, input := random(), random(), random(), random(), random(), random()
	one := fr.One()

	var left, right, ic, h fr.Element
	ic.Mul(&ic1, &input).Add(&ic, &ic0)
	left.Add(&alpha, &a)
	right.Add(&beta, &b)
	h.Mul(&left, &right).Sub(&h, right.Mul(&alpha, &beta)).Sub(&h, ic.Mul(&ic, &gamma))
	h.Div(&h, &delta).Sub(&h, &l)

	in := &instance{
		vk: VerifyingKey{AlphaG1: g1(alpha), BetaG1: g1(beta), BetaG2: g2(beta), GammaG2: g2(gamma),
			DeltaG1: g1(delta), DeltaG2: g2(delta), IC: []bls.G1Affine{g1(ic0), g1(ic1)}},
		inputs: []fr.Element{one, input},
	}
	for sum, x := range map[*bls.G1Jac]fr.Element{&in.sums.H: h, &in.sums.L: l, &in.sums.A: a, &in.sums.B1: b} {
		p := g1(x)
		sum.FromAffine(&p)
	}
	p := g2(b)
	in.sums.B2.FromAffine(&p)
	return in
}

// naive is the equation of Assemble term by term, with the library's own
// scalar multiplication.
func (in *instance) naive(r, s *fr.Element) *Proof {
	mul := func(p *bls.G1Jac, k *fr.Element) *bls.G1Jac {
		return new(bls.G1Jac).ScalarMultiplication(p, k.BigInt(new(big.Int)))
	}
	var delta, alpha, beta bls.G1Jac
	var delta2, beta2, b bls.G2Jac
	delta.FromAffine(&in.vk.DeltaG1)
	alpha.FromAffine(&in.vk.AlphaG1)
	beta.FromAffine(&in.vk.BetaG1)
	delta2.FromAffine(&in.vk.DeltaG2)
	beta2.FromAffine(&in.vk.BetaG2)

	a := *mul(&delta, r)
	a.AddAssign(&alpha).AddAssign(&in.sums.A)
	b.ScalarMultiplication(&delta2, s.BigInt(new(big.Int))).AddAssign(&beta2).AddAssign(&in.sums.B2)
	var rs fr.Element
	c := *mul(&in.sums.A, s)
	c.AddAssign(mul(&in.sums.B1, r)).AddAssign(mul(&delta, rs.Mul(r, s))).AddAssign(mul(&alpha, s)).
		AddAssign(mul(&beta, r)).AddAssign(&in.sums.H).AddAssign(&in.sums.L)

	p := new(Proof)
	p.A.FromJacobian(&a)
	p.B.FromJacobian(&b)
	p.C.FromJacobian(&c)
	return p
}

func TestAssembleEqualsTheEquationTermByTerm(t *testing.T) {
	in := newInstance()
	var zero, minusOne fr.Element
	minusOne.SetInt64(-1)
	scalars := []fr.Element{zero, fr.One(), minusOne, random()}
	for _, r := range scalars {
		for _, s := range scalars {
			got, err := Assemble(&in.vk, &in.sums, &r, &s)
			require.NoError(t, err)
			assert.Equal(t, in.naive(&r, &s), got)
			assert.NoError(t, Verify(&in.vk, in.inputs, got))
		}
	}
}

func TestAssembleWithSumsAtInfinity(t *testing.T) {
	in := newInstance()
	in.sums = Sums{}
	r, s := random(), random()
	got, err := Assemble(&in.vk, &in.sums, &r, &s)
	require.NoError(t, err)
	assert.Equal(t, in.naive(&r, &s), got)
}

func TestAssembleRefuses(t *testing.T) {
	in := newInstance()
	r, s := random(), random()
	tooBig := fr.Element(modulus.R)

	_, err := Assemble(&in.vk, &in.sums, &tooBig, &s)
	require.ErrorIs(t, err, ErrScalarRange)
	_, err = Assemble(&in.vk, &in.sums, &r, &tooBig)
	require.ErrorIs(t, err, ErrScalarRange)

	vk := in.vk
	vk.DeltaG1 = bls.G1Affine{}
	_, err = Assemble(&vk, &in.sums, &r, &s)
	require.ErrorIs(t, err, ErrDeltaIdentity)
	vk = in.vk
	vk.DeltaG2 = bls.G2Affine{}
	_, err = Assemble(&vk, &in.sums, &r, &s)
	require.ErrorIs(t, err, ErrDeltaIdentity)
	_, err = Prepare(&vk)
	require.ErrorIs(t, err, ErrDeltaIdentity)
}

func TestVerifyRefuses(t *testing.T) {
	in := newInstance()
	r, s := random(), random()
	proof, err := Assemble(&in.vk, &in.sums, &r, &s)
	require.NoError(t, err)
	key, err := Prepare(&in.vk)
	require.NoError(t, err)

	var x fp.Element
	outside := bls.GeneratePointNotInG1(*x.SetUint64(9))
	var outsideAffine bls.G1Affine // on the curve, not in the subgroup
	outsideAffine.FromJacobian(&outside)

	type change func(p *Proof, inputs []fr.Element) []fr.Element
	tests := map[string]struct {
		change change
		want   error
	}{
		"another input":          {func(_ *Proof, i []fr.Element) []fr.Element { i[1] = random(); return i }, ErrProofInvalid},
		"an input that is r":     {func(_ *Proof, i []fr.Element) []fr.Element { i[1] = modulus.R; return i }, ErrScalarRange},
		"an input too few":       {func(_ *Proof, i []fr.Element) []fr.Element { return i[:1] }, ErrInputCount},
		"A negated":              {func(p *Proof, i []fr.Element) []fr.Element { p.A.Neg(&p.A); return i }, ErrProofInvalid},
		"B negated":              {func(p *Proof, i []fr.Element) []fr.Element { p.B.Neg(&p.B); return i }, ErrProofInvalid},
		"C replaced by A":        {func(p *Proof, i []fr.Element) []fr.Element { p.C = p.A; return i }, ErrProofInvalid},
		"A at infinity":          {func(p *Proof, i []fr.Element) []fr.Element { p.A = bls.G1Affine{}; return i }, ErrProofInvalid},
		"B at infinity":          {func(p *Proof, i []fr.Element) []fr.Element { p.B = bls.G2Affine{}; return i }, ErrProofInvalid},
		"C at infinity":          {func(p *Proof, i []fr.Element) []fr.Element { p.C = bls.G1Affine{}; return i }, ErrProofInvalid},
		"C off the curve":        {func(p *Proof, i []fr.Element) []fr.Element { p.C.X.SetOne(); return i }, ErrProofPoint},
		"C outside the subgroup": {func(p *Proof, i []fr.Element) []fr.Element { p.C = outsideAffine; return i }, ErrProofPoint},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p := *proof
			inputs := test.change(&p, append([]fr.Element(nil), in.inputs...))
			require.ErrorIs(t, key.Verify(inputs, &p), test.want)
		})
	}
	assert.NoError(t, key.Verify(in.inputs, proof), "the key is unchanged by verifying")
}

// TestInfinityIsAPointLikeAnyOther leaves the decision to the equation
// ab = αβ + ic·γ + cδ of the exponents, each of which may be zero.
func TestInfinityIsAPointLikeAnyOther(t *testing.T) {
	type exponents struct{ alpha, beta, gamma, delta, a, b, c, ic fr.Element }
	var zero fr.Element
	for name, change := range map[string]func(e *exponents){
		"nothing at infinity":             func(*exponents) {},
		"A":                               func(e *exponents) { e.a = zero },
		"B":                               func(e *exponents) { e.b = zero },
		"C, with the A and B of the key":  func(e *exponents) { e.a, e.b, e.c = e.alpha, e.beta, zero },
		"C, for inputs that fit":          func(e *exponents) { e.c = zero },
		"the sum of the inputs":           func(e *exponents) { e.ic = zero },
		"the sum, with A and B as before": func(e *exponents) { e.a, e.b, e.ic = e.alpha, e.beta, zero },
		"A, C and the sum of the inputs":  func(e *exponents) { e.a, e.c, e.ic = zero, zero, zero },
		"A, B, C":                         func(e *exponents) { e.a, e.b, e.c = zero, zero, zero },
		"gamma":                           func(e *exponents) { e.gamma = zero },
		"gamma, with A and B of the key":  func(e *exponents) { e.gamma, e.a, e.b = zero, e.alpha, e.beta },
		"alpha and A":                     func(e *exponents) { e.alpha, e.a = zero, zero },
		"alpha, A, C and the sum":         func(e *exponents) { e.alpha, e.a, e.c, e.ic = zero, zero, zero, zero },
	} {
		t.Run(name, func(t *testing.T) {
			check := func(e exponents) {
				key, err := Prepare(&VerifyingKey{AlphaG1: g1(e.alpha), BetaG1: g1(e.beta), BetaG2: g2(e.beta),
					GammaG2: g2(e.gamma), DeltaG1: g1(e.delta), DeltaG2: g2(e.delta), IC: []bls.G1Affine{g1(e.ic)}})
				require.NoError(t, err)
				var left, right, term fr.Element
				left.Mul(&e.a, &e.b)
				right.Mul(&e.alpha, &e.beta).Add(&right, term.Mul(&e.ic, &e.gamma)).Add(&right, term.Mul(&e.c, &e.delta))
				err = key.Verify([]fr.Element{fr.One()}, &Proof{A: g1(e.a), B: g2(e.b), C: g1(e.c)})
				if left.Equal(&right) {
					require.NoError(t, err)
				} else {
					require.ErrorIs(t, err, ErrProofInvalid)
				}
			}
			e := exponents{random(), random(), random(), random(), random(), random(), random(), random()}
			change(&e)
			check(e)
			// Now with the alpha, or where it is zero the c, that makes it hold.
			var rest, term fr.Element
			rest.Mul(&e.a, &e.b).Sub(&rest, term.Mul(&e.ic, &e.gamma))
			if e.alpha.IsZero() {
				e.c.Div(&rest, &e.delta)
			} else {
				rest.Sub(&rest, term.Mul(&e.c, &e.delta))
				e.alpha.Div(&rest, &e.beta)
			}
			check(e)
		})
	}
}

func TestProofEncoding(t *testing.T) {
	in := newInstance()
	r, s := random(), random()
	proof, err := Assemble(&in.vk, &in.sums, &r, &s)
	require.NoError(t, err)
	data := proof.Bytes()

	back, err := ParseProof(data[:])
	require.NoError(t, err)
	assert.Equal(t, proof, back)

	for name, bad := range map[string][]byte{
		"too short":         data[:ProofBytes-1],
		"too long":          append(bytes.Clone(data[:]), 0),
		"not compressed":    append([]byte{data[0] &^ 0x80}, data[1:]...),
		"x not below p":     append(append([]byte{0x9f}, bytes.Repeat([]byte{0xff}, 47)...), data[48:]...),
		"dirty infinity":    append([]byte{0xc0, 1}, data[2:]...),
		"B without its bit": append(append(bytes.Clone(data[:48]), data[48]&^0x80), data[49:]...),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ParseProof(bad)
			require.ErrorIs(t, err, ErrEncoding)
		})
	}
	inf := append(append([]byte{0xc0}, make([]byte, 47)...), data[48:]...)
	_, err = ParseProof(inf)
	require.ErrorIs(t, err, ErrProofPoint)
}

func TestExplain(t *testing.T) {
	one, x := fr.One(), random()
	fresh := func() *Assignment {
		return &Assignment{A: []fr.Element{x, one, x}, B: make([]fr.Element, 3), Inputs: []fr.Element{one, x}}
	}
	assert.NoError(t, Explain(nil, fresh(), true))
	assert.Equal(t, ErrEncoding, Explain(ErrEncoding, fresh(), true))
	assert.ErrorContains(t, Explain(ErrProofInvalid, fresh(), true), "does not satisfy the circuit")
	assert.ErrorIs(t, Explain(ErrProofInvalid, fresh(), true), ErrProofInvalid)

	a := fresh()
	a.Inputs[0] = x
	assert.ErrorContains(t, Explain(ErrProofInvalid, a, true), "inputs[0] is not one")
	a = fresh()
	a.B[2] = one
	assert.ErrorContains(t, Explain(ErrProofInvalid, a, true), "row 2")
	assert.NotContains(t, Explain(ErrProofInvalid, a, false).Error(), "row 2")
	a = fresh()
	a.A[1] = x
	assert.ErrorContains(t, Explain(ErrProofInvalid, a, true), "row 1")
}

func BenchmarkVerify(b *testing.B) {
	in := newInstance()
	r, s := random(), random()
	proof, err := Assemble(&in.vk, &in.sums, &r, &s)
	require.NoError(b, err)
	key, err := Prepare(&in.vk)
	require.NoError(b, err)
	for b.Loop() {
		if err := key.Verify(in.inputs, proof); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAssemble(b *testing.B) {
	in := newInstance()
	r, s := random(), random()
	for b.Loop() {
		if _, err := Assemble(&in.vk, &in.sums, &r, &s); err != nil {
			b.Fatal(err)
		}
	}
}
