package synth

import (
	"bytes"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"

	bls "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fp"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/engine/groth16"
	"github.com/libcuzk/libcuzk/engine/srs"
	"github.com/libcuzk/libcuzk/internal/circuits/gv"
)

func TestTheExpectedProofVerifies(t *testing.T) {
	for name, shape := range shapes() {
		t.Run(name, func(t *testing.T) {
			c := draw(t, shape)
			key, err := groth16.Prepare(c.Exponents().VerifyingKey())
			require.NoError(t, err)
			r, s := c.Blinding()
			for _, blinding := range [][2]fr.Element{{r, s}, {}} {
				proof := c.ExpectedProof(blinding[0], blinding[1])
				err := key.Verify(c.Assignment().Inputs, &proof)
				if shape.Spoil {
					require.ErrorIs(t, err, groth16.ErrProofInvalid)
				} else {
					require.NoError(t, err)
				}
				// Without constraints h is 0 and l is empty.
				if shape.constraints() == 0 && blinding[0].IsZero() {
					require.True(t, proof.C.IsInfinity())
				}
			}
		})
	}
}

func TestFilesAreReadBackAsTheyWereWritten(t *testing.T) {
	for name, shape := range shapes() {
		t.Run(name, func(t *testing.T) {
			c := draw(t, shape)
			r, s := c.Blinding()
			path := filepath.Join(t.TempDir(), "synth.params")
			var params, assignment bytes.Buffer
			require.NoError(t, c.WriteParams(&params))
			require.NoError(t, os.WriteFile(path, params.Bytes(), 0o600))
			p, err := srs.Open(path, srs.Options{SubgroupCheck: true})
			require.NoError(t, err)
			defer func() { require.NoError(t, p.Release()) }()
			points, err := p.Points(t.Context())
			require.NoError(t, err)
			made, err := c.Params()
			require.NoError(t, err)
			want, err := made.Points(t.Context())
			require.NoError(t, err)
			assert.Equal(t, made.Counts(), p.Counts())
			assert.Equal(t, made.VerifyingKey(), p.VerifyingKey())
			assertPoints(t, want.H, points.H)
			assertPoints(t, want.L, points.L)
			assertPoints(t, want.A, points.A)
			assertPoints(t, want.BG1, points.BG1)
			assertPoints(t, want.BG2, points.BG2)

			require.NoError(t, c.WriteGV(&assignment, r, s))
			f, err := gv.Decode(assignment.Bytes())
			require.NoError(t, err)
			assert.Equal(t, *c.Assignment(), f.Assignment)
			assert.Equal(t, shape.Spoil, f.Proof == nil)
			if !shape.Spoil {
				assert.Equal(t, c.ExpectedProof(r, s), *f.Proof)
			}
		})
	}
}

func TestSeedAndShapeGiveTheCircuit(t *testing.T) {
	shape := PoRepLike(500, 4)
	first, again, other := draw(t, shape), draw(t, shape), func() *Circuit {
		c, err := New(shape, 43)
		require.NoError(t, err)
		return c
	}()
	assert.Equal(t, first.Assignment(), again.Assignment())
	assert.Equal(t, first.Exponents(), again.Exponents())
	assert.NotEqual(t, first.Assignment().Aux, other.Assignment().Aux)
	assert.NotEqual(t, first.Exponents().H, other.Exponents().H)
}

func TestSharesAreMet(t *testing.T) {
	shape := PoRepLike(1<<15, 40)
	a := draw(t, shape).Assignment()
	const tolerance = 0.02
	near := func(want float64, got, of int, what string) {
		assert.InDelta(t, want, float64(got)/float64(of), tolerance, what)
	}
	near(0.996, a.AAux.Popcount, shape.Aux, "a_aux")
	near(0.255, a.BAux.Popcount, shape.Aux, "b_aux")
	assert.Equal(t, 1, a.BInputs.Popcount)
	zero, one := count(a.Aux)
	near(0.511, zero, shape.Aux, "aux zero")
	near(0.472, one, shape.Aux, "aux one")
	var inB []fr.Element
	for j := range a.Aux {
		if a.BAux.Has(j) {
			inB = append(inB, a.Aux[j])
		}
	}
	zero, one = count(inB)
	near(0.476, zero, len(inB), "zero in b")
	near(0.477, one, len(inB), "one in b")
	zero, one = count(a.A)
	near(0.491, zero, shape.Rows, "rows of a, zero")
	near(0.181, one, shape.Rows, "rows of a, one")
	zero, one = count(a.B)
	near(0.490, zero, shape.Rows, "rows of b, zero")
	near(0.498, one, shape.Rows, "rows of b, one")

	zero, one = count(draw(t, SHA256Like(1<<12, 3)).Assignment().Aux)
	assert.Equal(t, 1<<12-3, zero+one, "SHA-256: every aux value is 0 or 1")
}

func TestDenseMeansThatNothingCanBeSkipped(t *testing.T) {
	a := draw(t, Dense(1<<10, 4)).Assignment()
	for _, values := range [][]fr.Element{a.Aux, a.A[:1<<10-4], a.B[:1<<10-4]} {
		zero, one := count(values)
		assert.Zero(t, zero+one)
	}
	assert.Equal(t, []int{len(a.Aux), 4, len(a.Aux)}, []int{a.AAux.Popcount, a.BInputs.Popcount, a.BAux.Popcount})
}

func TestRepeatedPointsHaveEqualAndOppositeValues(t *testing.T) {
	shape := Dense(40, 2)
	shape.Aux, shape.Duplicates, shape.DuplicateGroup = 1000, 1, 100
	c := draw(t, shape)
	distinct := map[fr.Element]bool{}
	for _, l := range c.Exponents().L {
		distinct[l] = true
	}
	assert.Len(t, distinct, 10, "1000 variables in groups of 100")
	equal, opposite := 0, 0
	aux := c.Assignment().Aux
	for j := range aux {
		var sum fr.Element
		switch first := aux[c.columns.of(j)]; {
		case aux[j] == first:
			equal++
		case sum.Add(&first, &aux[j]).IsZero():
			opposite++
		}
	}
	assert.Equal(t, 1000, equal+opposite)
	assert.Greater(t, opposite, 100)
	assert.Greater(t, equal, 100)
}

func TestShapesThatNoCircuitHasAreRefused(t *testing.T) {
	fine := Shape{Rows: 10, Inputs: 2, Aux: 5}
	for name, test := range map[string]struct {
		change  func(*Shape)
		message string
	}{
		"no rows":                      {func(s *Shape) { s.Rows = 0 }, "rows: expected 1 to 2^31, got 0"},
		"more rows than any domain":    {func(s *Shape) { s.Rows = 1<<31 + 1 }, "rows: expected 1 to 2^31"},
		"no inputs":                    {func(s *Shape) { s.Inputs = 0 }, "inputs: expected 1 to 10"},
		"more inputs than rows":        {func(s *Shape) { s.Inputs = 11 }, "inputs: expected 1 to 10, the number of rows, got 11"},
		"a negative aux":               {func(s *Shape) { s.Aux = -1 }, "aux: expected 0"},
		"aux without a constraint":     {func(s *Shape) { s.Inputs = 10 }, "5 aux, but each of the 10 rows belongs to an input"},
		"a share above one":            {func(s *Shape) { s.AAux = 1.5 }, "share of a_aux: expected 0 to 1, got 1.5"},
		"a share that is not a number": {func(s *Shape) { s.BAux = math.NaN() }, "share of b_aux"},
		"shares that add up to more":   {func(s *Shape) { s.Values = Shares{Zero: 0.6, One: 0.6} }, "share of not dense in aux: expected 0 to 1, got 1.2"},
		"small values in rows":         {func(s *Shape) { s.RowsA.Small = 0.5 }, "share of small rows of a"},
		"a group of one":               {func(s *Shape) { s.Duplicates, s.DuplicateGroup = 0.5, 1 }, "duplicate group: expected at least 2, got 1"},
		"spoiling an input's row":      {func(s *Shape) { s.Spoil, s.SpoilRow = true, 8 }, "row to spoil: expected 0 to 7, got 8"},
	} {
		t.Run(name, func(t *testing.T) {
			shape := fine
			test.change(&shape)
			_, err := New(shape, 1)
			require.ErrorIs(t, err, ErrShape)
			assert.ErrorContains(t, err, test.message)
		})
	}
}

func TestFixedBaseAgainstOneMultiplicationEach(t *testing.T) {
	scalars := append([]fr.Element{{}, fr.One()}, edges...)
	for i := range 40 {
		scalars = append(scalars, newStream(7, 0).scalar(i))
	}
	for window := 2; window <= 9; window++ {
		// Sums of digits that reach the point about to be added, and its opposite.
		power := new(big.Int).Lsh(big.NewInt(1), uint(window*(digitBits/window)))
		var z fr.Element
		scalars = append(scalars, *z.SetBigInt(power), *z.Neg(&z))
	}
	g1 := multiplyG1(scalars)[0]
	g2 := multiplyG2(scalars)
	for i := range scalars {
		require.Equal(t, timesG1(&scalars[i]), g1[i], "scalar %s", scalars[i].String())
		require.Equal(t, timesG2(&scalars[i]), g2[i], "scalar %s", scalars[i].String())
	}
}

func TestFixedBaseWithEveryWindow(t *testing.T) {
	_, _, generator, _ := bls.Generators()
	scalars := append([]fr.Element{{}, fr.One()}, edges...)
	for window := 2; window <= 13; window++ {
		table := newFixedBase[fp.Element](affine[fp.Element](generator), window)
		out := make([]affine[fp.Element], len(scalars))
		table.multiply(scalars, out)
		for i := range scalars {
			require.Equal(t, timesG1(&scalars[i]), bls.G1Affine(out[i]), "window %d, scalar %s", window, scalars[i].String())
		}
	}
}

func TestAdditionOfSpecialPairs(t *testing.T) {
	one, two := fr.One(), fr.NewElement(2)
	p, twice := timesG1(&one), timesG1(&two)
	var minus, thrice bls.G1Affine
	minus.Neg(&p)
	thrice.Add(&p, &twice)
	infinity := bls.G1Affine{}
	rows := []struct{ p, q, want bls.G1Affine }{
		{p, twice, thrice}, {p, p, twice}, {p, minus, infinity}, {infinity, p, p}, {p, infinity, p},
		{infinity, infinity, infinity}, {twice, p, thrice}, {minus, p, infinity}, {thrice, minus, twice},
	}
	left, right := make([]affine[fp.Element], len(rows)), make([]affine[fp.Element], len(rows))
	for i, row := range rows {
		left[i], right[i] = affine[fp.Element](row.p), affine[fp.Element](row.q)
	}
	newAdder[fp.Element](len(rows)).add(left, right)
	for i, row := range rows {
		assert.Equal(t, row.want, bls.G1Affine(left[i]), "pair %d", i)
	}
}

// BenchmarkParams measures a set of 2^14 rows: the exponents, and all of it.
func BenchmarkParams(b *testing.B) {
	for _, shape := range []struct {
		name string
		Shape
	}{{"dense", Dense(1<<14, 4)}, {"like a PoRep", PoRepLike(1<<14, 4)}} {
		b.Run(shape.name, func(b *testing.B) {
			for b.Loop() {
				c := draw(b, shape.Shape)
				start := time.Now()
				e := c.Exponents()
				exponents := time.Since(start)
				e.Points()
				b.ReportMetric(exponents.Seconds(), "s-exponents")
			}
		})
	}
}

func count(values []fr.Element) (zero, one int) {
	for i := range values {
		if values[i].IsZero() {
			zero++
		}
		if values[i].IsOne() {
			one++
		}
	}
	return zero, one
}

// assertPoints takes an empty list for equal to none.
func assertPoints[T any](t *testing.T, want, got []T) {
	t.Helper()
	require.Len(t, got, len(want))
	for i := range want {
		require.Equal(t, want[i], got[i], "point %d", i)
	}
}
