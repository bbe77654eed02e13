package backendtest

import (
	"math/big"
	"math/rand/v2"
	"sync"
	"testing"

	bls "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/engine/groth16"
	"github.com/libcuzk/libcuzk/engine/srs"
)

// shape describes a generated case. The points are not those of a circuit: the
// five sums are defined for any, and only the sums are compared.
type shape struct {
	rows, inputs, aux int
	extraH            bool // m points for h, not m-1

	// density of variable i in the A forms and in the B forms; all if nil.
	inA, inB func(i int) bool
	// scalars of rows and of the witness; random if nil.
	row, witness func(i int, random fr.Element) fr.Element
	// pick returns which of the generated points is point i of a section, or
	// a negative number for infinity; point i if nil. negate turns it round.
	pick   func(i int) int
	negate func(i int) bool
}

var shapes = map[string]shape{
	"one row, one input, nothing else":      {rows: 1, inputs: 1},
	"one row, with one h point too many":    {rows: 1, inputs: 1, extraH: true},
	"two rows":                              {rows: 2, inputs: 1, aux: 1},
	"two rows, two inputs":                  {rows: 2, inputs: 2, aux: 3},
	"three rows":                            {rows: 3, inputs: 1, aux: 2, extraH: true},
	"as many rows as a power of two":        {rows: 64, inputs: 2, aux: 64},
	"one row less":                          {rows: 63, inputs: 2, aux: 63},
	"one row more":                          {rows: 65, inputs: 2, aux: 65, extraH: true},
	"as many rows as a larger power of two": {rows: 4096, inputs: 3, aux: 2000},
	"only inputs":                           {rows: 50, inputs: 40},
	"inputs in no B form":                   {rows: 20, inputs: 4, aux: 30, inB: func(i int) bool { return i >= 4 }},
	"nothing in any B form":                 {rows: 20, inputs: 4, aux: 30, inB: never},
	"no aux in any A form":                  {rows: 20, inputs: 4, aux: 30, inA: never},
	"densities with holes":                  {rows: 300, inputs: 5, aux: 333, inA: func(i int) bool { return i%3 != 1 }, inB: func(i int) bool { return i%7 < 2 }},
	"every row zero":                        {rows: 30, inputs: 2, aux: 30, row: constant(0)},
	"every row one":                         {rows: 30, inputs: 2, aux: 30, row: constant(1)},
	"every row r-1":                         {rows: 30, inputs: 2, aux: 30, row: constant(-1)},
	"every scalar zero":                     {rows: 30, inputs: 2, aux: 300, row: constant(0), witness: constant(0)},
	"every scalar one":                      {rows: 30, inputs: 2, aux: 300, row: constant(1), witness: constant(1)},
	"every scalar r-1":                      {rows: 30, inputs: 2, aux: 300, row: constant(-1), witness: constant(-1)},
	"a real mix of zeros and ones":          {rows: 1500, inputs: 10, aux: 3000, row: sparse, witness: sparse},
	"64 dense variables":                    {rows: 70, inputs: 64, aux: 64},
	"powers of two":                         {rows: 300, inputs: 2, aux: 300, row: power, witness: power},
	"all points equal":                      {rows: 100, inputs: 2, aux: 500, pick: func(int) int { return 0 }},
	"all points equal, scalars one":         {rows: 30, inputs: 2, aux: 900, pick: func(int) int { return 0 }, witness: constant(1)},
	"all points and scalars equal":          {rows: 30, inputs: 2, aux: 900, pick: func(int) int { return 0 }, witness: constant(9)},
	"opposite points, scalars one":          {rows: 30, inputs: 2, aux: 901, pick: half, negate: odd, witness: constant(1)},
	"opposite points, equal scalars":        {rows: 30, inputs: 2, aux: 900, pick: half, negate: odd, witness: constant(9)},
	"points at infinity among others":       {rows: 100, inputs: 2, aux: 300, pick: func(i int) int { return i%3 - 1 }, witness: sparse},
	"only points at infinity":               {rows: 30, inputs: 2, aux: 300, pick: func(int) int { return -1 }},
}

func never(int) bool { return false }

func odd(i int) bool { return i%2 == 1 }

func half(i int) int { return i / 2 }

func constant(k int64) func(int, fr.Element) fr.Element {
	var x fr.Element
	x.SetInt64(k)
	return func(int, fr.Element) fr.Element { return x }
}

// sparse is about the mix of a real circuit: half zero, nearly half one.
func sparse(i int, random fr.Element) fr.Element {
	if i%50 == 7 {
		return random
	}
	return fr.NewElement(uint64(i*i/3) % 2)
}

func power(i int, _ fr.Element) fr.Element {
	var x fr.Element
	return *x.SetBigInt(new(big.Int).Lsh(big.NewInt(1), uint(i%255)))
}

// instance is a generated case and the sums it must give.
type instance struct {
	params     *srs.Params
	assignment *groth16.Assignment
	want       groth16.Sums
}

func (s shape) generate(t testing.TB) *instance {
	all := func(int) bool { return true }
	if s.inA == nil {
		s.inA = all
	}
	if s.inB == nil {
		s.inB = all
	}
	rng := rand.New(rand.NewPCG(uint64(s.rows), uint64(s.aux)))
	a := &groth16.Assignment{
		A: scalars(rng, s.rows, s.row), B: scalars(rng, s.rows, s.row),
		Inputs: scalars(rng, s.inputs, s.witness), Aux: scalars(rng, s.aux, s.witness),
		AAux:    density(rng, s.aux, func(i int) bool { return s.inA(s.inputs + i) }),
		BInputs: density(rng, s.inputs, s.inB),
		BAux:    density(rng, s.aux, func(i int) bool { return s.inB(s.inputs + i) }),
	}
	h := groth16.Domain(s.rows) - 1
	if s.extraH {
		h++
	}
	b := a.BInputs.Popcount + a.BAux.Popcount
	points := &srs.Points{
		H: pointsG1(s, 1, h), L: pointsG1(s, 2, s.aux), A: pointsG1(s, 3, s.inputs+a.AAux.Popcount),
		BG1: pointsG1(s, 4, b), BG2: pointsG2(s, 5, b),
	}
	_, _, g1, g2 := bls.Generators()
	vk := &groth16.VerifyingKey{AlphaG1: g1, BetaG1: g1, BetaG2: g2, GammaG2: g2, DeltaG1: g1, DeltaG2: g2, IC: pool().g1[:s.inputs]}
	params, err := srs.New(vk, points)
	require.NoError(t, err)
	require.NoError(t, groth16.Validate(a, params.Counts()))
	return &instance{params: params, assignment: a, want: reference(points, a)}
}

func scalars(rng *rand.Rand, n int, value func(int, fr.Element) fr.Element) []fr.Element {
	out := make([]fr.Element, n)
	for i := range out {
		var b [40]byte
		for j := range b {
			b[j] = byte(rng.Uint32())
		}
		out[i].SetBytes(b[:])
		if value != nil {
			out[i] = value(i, out[i])
		}
	}
	return out
}

// density sets garbage past the end, as a caller may.
func density(rng *rand.Rand, n int, has func(int) bool) groth16.Density {
	d := groth16.Density{Words: make([]uint64, (n+63)/64), Len: n}
	for i := range 64 * len(d.Words) {
		if i >= n && rng.IntN(2) == 1 || i < n && has(i) {
			d.Words[i/64] |= 1 << (i % 64)
		}
		if i < n && has(i) {
			d.Popcount++
		}
	}
	return d
}

// poolSize is how many different points the cases share.
const poolSize = 8192

type pointPool struct {
	g1 []bls.G1Affine
	g2 []bls.G2Affine
}

// pool makes the points once for all cases: a random point and steps of
// another, which is quick.
var pool = sync.OnceValue(func() pointPool {
	ends := scalars(rand.New(rand.NewPCG(1, 2)), 2, nil)
	_, _, g1, g2 := bls.Generators()
	ends1, ends2 := bls.BatchScalarMultiplicationG1(&g1, ends), bls.BatchScalarMultiplicationG2(&g2, ends)
	sums1 := make([]bls.G1Jac, poolSize)
	p := pointPool{g2: make([]bls.G2Affine, poolSize)}
	var at1 bls.G1Jac
	var at2 bls.G2Jac
	at1.FromAffine(&ends1[0])
	at2.FromAffine(&ends2[0])
	for i := range poolSize {
		sums1[i] = *at1.AddMixed(&ends1[1])
		p.g2[i].FromJacobian(at2.AddMixed(&ends2[1]))
	}
	p.g1 = bls.BatchJacobianToAffineG1(sums1)
	return p
})

// index returns which pooled point is point i of a section, negative for
// infinity. Sections start at different places.
func (s shape) index(section, i int) int {
	if s.pick != nil {
		if i = s.pick(i); i < 0 {
			return i
		}
	}
	return (section*1000 + i) % poolSize
}

func pointsG1(s shape, section, n int) []bls.G1Affine {
	out := make([]bls.G1Affine, n)
	for i := range out {
		if j := s.index(section, i); j >= 0 {
			out[i] = pool().g1[j]
		}
		if s.negate != nil && s.negate(i) {
			out[i].Neg(&out[i])
		}
	}
	return out
}

func pointsG2(s shape, section, n int) []bls.G2Affine {
	out := make([]bls.G2Affine, n)
	for i := range out {
		if j := s.index(section, i); j >= 0 {
			out[i] = pool().g2[j]
		}
		if s.negate != nil && s.negate(i) {
			out[i].Neg(&out[i])
		}
	}
	return out
}
