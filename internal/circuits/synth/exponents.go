package synth

import (
	"math/bits"
	"sync"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/libcuzk/libcuzk/engine/groth16"
)

// Exponents are the discrete logarithms of a parameter set's points to the
// bases of the standard generators, section by section and in file order. What
// remains to be done is one fixed-base multiplication for each.
type Exponents struct {
	Alpha, Beta, Gamma, Delta fr.Element

	IC []fr.Element // [inputs] (β·u_i + α·v_i + w_i)/γ
	H  []fr.Element // [m-1] τ^i·t(τ)/δ
	L  []fr.Element // [aux] (β·u_j + α·v_j + w_j)/δ
	A  []fr.Element // [inputs + |a_aux|] u
	B  []fr.Element // [|b_inputs| + |b_aux|] v, for b_g1 and b_g2
}

// trapdoor is what a real setup destroys.
type trapdoor struct {
	tau, alpha, beta, gamma, delta fr.Element
	gammaInverse, deltaInverse     fr.Element
	vanishing                      fr.Element // t(τ) = τ^m - 1, not 0
}

// evaluation is what the expected proof is made of: polynomials of the witness
// at τ, and the sum over l.
type evaluation struct {
	trapdoor trapdoor
	a, b     fr.Element // Σ a_row·L_row(τ), Σ b_row·L_row(τ)
	ab       fr.Element // Σ a_row·b_row·L_row(τ)
	l        fr.Element // Σ aux_j·L_j
}

// Exponents evaluates the circuit at τ, on all cores. Nothing of it is kept:
// a second call computes it again. It takes 32 bytes for each row and for each
// element of the result. A circuit of 2^24 rows like a PoRep's, witness
// included, takes 4.7 GiB and 12 s on two cores.
func (c *Circuit) Exponents() *Exponents {
	e, evaluated := c.evaluate()
	c.evaluated.Do(func() { c.evaluation = evaluated })
	return e
}

func (c *Circuit) evaluate() (*Exponents, evaluation) {
	m := groth16.Domain(c.shape.Rows)
	t := c.drawTrapdoor(m)
	lagrange := lagrangeAt(&t.tau, &t.vanishing, m, c.shape.Rows)
	out := evaluation{trapdoor: t}
	out.a, out.b, out.ab = c.evaluateRows(lagrange)

	e := &Exponents{Alpha: t.alpha, Beta: t.beta, Gamma: t.gamma, Delta: t.delta}
	e.H = powers(m-1, &t)
	ev := evaluator{c: c, t: &t, e: e, lagrange: lagrange, rows: &out}
	ev.columns()
	out.l = innerProduct(c.assignment.Aux, e.L)
	return e, out
}

func (c *Circuit) drawTrapdoor(m int) (t trapdoor) {
	draw := c.stream(streamTrapdoor)
	next := 0
	nonzero := func() (z fr.Element) {
		for z.IsZero() {
			z = draw.scalar(next)
			next++
		}
		return z
	}
	t.alpha, t.beta, t.gamma, t.delta = nonzero(), nonzero(), nonzero(), nonzero()
	t.gammaInverse.Inverse(&t.gamma)
	t.deltaInverse.Inverse(&t.delta)
	for t.vanishing.IsZero() {
		t.tau, t.vanishing = nonzero(), fr.One()
		power := t.tau
		for range bits.Len(uint(m)) - 1 {
			power.Square(&power)
		}
		t.vanishing.Sub(&power, &t.vanishing)
	}
	return t
}

// evaluateRows gives the A and B polynomials of the witness, and that of a·b,
// at τ.
func (c *Circuit) evaluateRows(lagrange []fr.Element) (a, b, ab fr.Element) {
	var mu sync.Mutex
	inChunks(c.shape.Rows, func(start, end int) {
		var sums [3]fr.Element
		for i := start; i < end; i++ {
			var term fr.Element
			sums[0].Add(&sums[0], term.Mul(&c.assignment.A[i], &lagrange[i]))
			term.Mul(&c.assignment.B[i], &lagrange[i])
			sums[1].Add(&sums[1], &term)
			sums[2].Add(&sums[2], term.Mul(&term, &c.assignment.A[i]))
		}
		mu.Lock()
		defer mu.Unlock()
		a.Add(&a, &sums[0])
		b.Add(&b, &sums[1])
		ab.Add(&ab, &sums[2])
	})
	return a, b, ab
}

// powers are τ^i·t(τ)/δ for i < n.
func powers(n int, t *trapdoor) []fr.Element {
	out := make([]fr.Element, n)
	var factor fr.Element
	factor.Mul(&t.vanishing, &t.deltaInverse)
	inChunks(n, func(start, end int) {
		power := pow(&t.tau, start)
		power.Mul(&power, &factor)
		for i := start; i < end; i++ {
			out[i] = power
			power.Mul(&power, &t.tau)
		}
	})
	return out
}

// lagrangeAt is the Lagrange basis of the domain of size m at τ, as far as
// there are rows: L_i(τ) = ω^i·t(τ)/(m·(τ - ω^i)).
func lagrangeAt(tau, vanishing *fr.Element, m, rows int) []fr.Element {
	out, omega := make([]fr.Element, rows), rootOfUnity(m)
	var factor fr.Element
	factor.SetUint64(uint64(m)).Inverse(&factor)
	factor.Mul(&factor, vanishing)
	inChunks(rows, func(start, end int) {
		differences := make([]fr.Element, end-start)
		power := pow(&omega, start)
		first := power
		for i := range differences {
			differences[i].Sub(tau, &power)
			power.Mul(&power, &omega)
		}
		power.Mul(&first, &factor)
		for i, inverse := range fr.BatchInvert(differences) {
			out[start+i].Mul(&power, &inverse)
			power.Mul(&power, &omega)
		}
	})
	return out
}

// rootOfUnity is the m-th root of unity that provers use: 7^((r-1)/m), 7 being
// the generator of the multiplicative group that bellperson and its kin take.
func rootOfUnity(m int) fr.Element {
	var seven fr.Element
	seven.SetUint64(7)
	exponent := fr.Modulus()
	exponent.Sub(exponent, bigOne).Rsh(exponent, uint(bits.Len(uint(m))-1))
	return *seven.Exp(seven, exponent)
}

// pow is x^n by squaring.
func pow(x *fr.Element, n int) fr.Element {
	out := fr.One()
	for bit := bits.Len(uint(n)) - 1; bit >= 0; bit-- {
		out.Square(&out)
		if n>>bit&1 == 1 {
			out.Mul(&out, x)
		}
	}
	return out
}

func innerProduct(a, b []fr.Element) (sum fr.Element) {
	var mu sync.Mutex
	inChunks(len(a), func(start, end int) {
		va, vb := fr.Vector(a[start:end]), fr.Vector(b[start:end])
		part := va.InnerProduct(vb)
		mu.Lock()
		defer mu.Unlock()
		sum.Add(&sum, &part)
	})
	return sum
}
