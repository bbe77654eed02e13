package msm

import (
	"context"
	"fmt"
	"math/big"
	"testing"

	"github.com/consensys/gnark-crypto/ecc"
	bls "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fp"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/engine/cpu/internal/curve"
	"github.com/libcuzk/libcuzk/internal/hostmem"
)

// points are n different points of each group, G2 only up to maxG2: a random
// point and steps of another, which is quick.
func points(n int) ([]bls.G1Affine, []bls.G2Affine) {
	var start, step fr.Element
	start.MustSetRandom()
	step.MustSetRandom()
	_, _, g1, g2 := bls.Generators()
	ends1 := bls.BatchScalarMultiplicationG1(&g1, []fr.Element{start, step})
	ends2 := bls.BatchScalarMultiplicationG2(&g2, []fr.Element{start, step})
	sums1, sums2 := make([]bls.G1Jac, n), make([]bls.G2Jac, min(n, maxG2))
	var at1 bls.G1Jac
	at1.FromAffine(&ends1[0])
	for i := range sums1 {
		sums1[i] = *at1.AddMixed(&ends1[1])
	}
	var at2 bls.G2Jac
	at2.FromAffine(&ends2[0])
	for i := range sums2 {
		sums2[i] = *at2.AddMixed(&ends2[1])
	}
	out2 := make([]bls.G2Affine, len(sums2))
	for i := range out2 {
		out2[i].FromJacobian(&sums2[i])
	}
	return bls.BatchJacobianToAffineG1(sums1), out2
}

// maxG2 is the largest sum that is tested in G2, which differs only in the
// field.
const maxG2 = 3000

func canonical(scalars []fr.Element) []Scalar {
	out := make([]Scalar, len(scalars))
	for i := range scalars {
		out[i] = scalars[i].Bits()
	}
	return out
}

func seq(n int) []uint32 {
	at := make([]uint32, n)
	for i := range at {
		at[i] = uint32(i)
	}
	return at
}

// total does all units of a sum, cut for the number of workers.
func total[A, P, J any, PJ Jacobian[A, J]](t testing.TB, g *Group[A, P, J], dense Dense[A], ones Ones[A], workers int) J {
	s, units := NewSum[A, P, J, PJ](g, dense, ones, workers)
	for _, u := range units {
		require.NoError(t, u.Do(t.Context()))
	}
	return s.Total()
}

func portableG1(t testing.TB) *Group[bls.G1Affine, curve.Affine[fp.Element], bls.G1Jac] {
	pool := new(hostmem.Pool)
	t.Cleanup(pool.Close)
	return &Group[bls.G1Affine, curve.Affine[fp.Element], bls.G1Jac]{Pool: pool, NewAdder: curve.NewPortableG1}
}

func portableG2(t testing.TB) *Group[bls.G2Affine, curve.Affine[bls.E2], bls.G2Jac] {
	pool := new(hostmem.Pool)
	t.Cleanup(pool.Close)
	return &Group[bls.G2Affine, curve.Affine[bls.E2], bls.G2Jac]{Pool: pool, NewAdder: curve.NewPortableG2}
}

// cases are sums of n points: the scalars, and what is special about the points.
var cases = map[string]struct {
	n      int
	scalar func(i int, random fr.Element) fr.Element
	point  func(i int) int // index of the point to take the place of point i
	negate func(i int) bool
}{
	"random scalars":                   {n: 3000},
	"a single pair":                    {n: 1},
	"two pairs":                        {n: 2},
	"all scalars zero":                 {n: 300, scalar: func(int, fr.Element) fr.Element { return fr.Element{} }},
	"all scalars r-1":                  {n: 300, scalar: func(int, fr.Element) fr.Element { return minusOne() }},
	"all scalars one":                  {n: 300, scalar: func(int, fr.Element) fr.Element { return fr.One() }},
	"equal scalars of a whole bucket":  {n: 20000, scalar: func(int, fr.Element) fr.Element { return fr.NewElement(77) }},
	"equal points":                     {n: 1000, point: func(int) int { return 0 }},
	"equal points with equal scalars":  {n: 9000, point: func(int) int { return 0 }, scalar: func(int, fr.Element) fr.Element { return fr.NewElement(5) }},
	"opposite points, equal scalars":   {n: 1000, point: func(i int) int { return i / 2 }, negate: odd, scalar: func(int, fr.Element) fr.Element { return fr.NewElement(5) }},
	"opposite points in pairs":         {n: 1001, point: func(i int) int { return i / 2 }, negate: odd},
	"some points at infinity":          {n: 500, point: func(i int) int { return i%3 - 1 }},
	"only points at infinity":          {n: 70, point: func(i int) int { return -1 }},
	"powers of two":                    {n: 254, scalar: power},
	"powers of two less one":           {n: 254, scalar: func(i int, x fr.Element) fr.Element { p, one := power(i, x), fr.One(); return *p.Sub(&p, &one) }},
	"equal scalars of many tiles":      {n: 40000, scalar: func(int, fr.Element) fr.Element { return minusOne() }},
	"few distinct points, sparse mix":  {n: 1500, point: func(i int) int { return i % 7 }, scalar: sparse},
	"mostly small scalars":             {n: 1500, scalar: sparse},
	"as many as a chunk and one":       {n: chunkRefs + 1, scalar: func(int, fr.Element) fr.Element { return fr.NewElement(3) }},
	"two chunks of one bucket, to dot": {n: 2*chunkRefs - 1, scalar: func(int, fr.Element) fr.Element { return fr.NewElement(3) }},
}

func odd(i int) bool { return i%2 == 1 }

func minusOne() fr.Element { var x fr.Element; return *x.SetInt64(-1) }

func power(i int, _ fr.Element) fr.Element {
	var x fr.Element
	return *x.SetBigInt(new(big.Int).Lsh(big.NewInt(1), uint(i)))
}

func sparse(i int, random fr.Element) fr.Element {
	switch i % 4 {
	case 0:
		return random
	case 1:
		return minusOne()
	default:
		return fr.NewElement(uint64(i % 4))
	}
}

func TestSums(t *testing.T) {
	p1, p2 := points(40000)
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			in1, in2, scalars := make([]bls.G1Affine, c.n), make([]bls.G2Affine, min(c.n, maxG2)), make([]fr.Element, c.n)
			for i := range c.n {
				j := i
				if c.point != nil {
					j = c.point(i)
				}
				negate := c.negate != nil && c.negate(i)
				if j >= 0 {
					in1[i] = p1[j]
				}
				if negate {
					in1[i].Neg(&in1[i])
				}
				if i < len(in2) && j >= 0 {
					in2[i] = p2[j]
				}
				if i < len(in2) && negate {
					in2[i].Neg(&in2[i])
				}
				scalars[i].MustSetRandom()
				if c.scalar != nil {
					scalars[i] = c.scalar(i, scalars[i])
				}
			}
			var want1, onesWant1 bls.G1Jac
			var want2, onesWant2 bls.G2Jac
			_, err := want1.MultiExp(in1, scalars, ecc.MultiExpConfig{})
			require.NoError(t, err)
			for i := range in1 {
				onesWant1.AddMixed(&in1[i])
			}
			check(t, portableG1(t), in1, canonical(scalars), want1, onesWant1)
			checkVectorG1(t, in1, canonical(scalars), want1, onesWant1)

			scalars = scalars[:len(in2)]
			_, err = want2.MultiExp(in2, scalars, ecc.MultiExpConfig{})
			require.NoError(t, err)
			for i := range in2 {
				onesWant2.AddMixed(&in2[i])
			}
			check(t, portableG2(t), in2, canonical(scalars), want2, onesWant2)
			checkVectorG2(t, in2, canonical(scalars), want2, onesWant2)
		})
	}
}

func check[A, P, J any, PJ interface {
	Jacobian[A, J]
	Equal(*J) bool
}](t *testing.T, g *Group[A, P, J], points []A, scalars []Scalar, want, wantOnes J) {
	n := len(points)
	for _, workers := range []int{1, 2, 40} {
		got := total[A, P, J, PJ](t, g, Dense[A]{Points: points, Scalars: scalars, Len: n}, Ones[A]{}, workers)
		assert.True(t, PJ(&got).Equal(&want), "%d workers", workers)
	}
	ones := Ones[A]{Points: points, At: seq(n)}
	got := total[A, P, J, PJ](t, g, Dense[A]{}, ones, 2)
	assert.True(t, PJ(&got).Equal(&wantOnes), "sum of ones")
	PJ(&wantOnes).AddAssign(&want)
	got = total[A, P, J, PJ](t, g, Dense[A]{Points: points, At: seq(n), Scalars: scalars, ScalarAt: seq(n), Len: n}, ones, 2)
	assert.True(t, PJ(&got).Equal(&wantOnes), "dense and ones, by index")
	inUse, _ := g.Pool.UsedBytes()
	assert.Zero(t, inUse, "every buffer is given back")
}

func TestDigitsOfEveryWindowSize(t *testing.T) {
	scalars := canonical([]fr.Element{{}, fr.One(), minusOne(), fr.NewElement(1 << 40)})
	for range 50 {
		var x fr.Element
		x.MustSetRandom()
		scalars = append(scalars, x.Bits())
	}
	for c := 4; c <= 18; c++ {
		s := newShape(c)
		for _, k := range scalars {
			shifted := s.addOffset(&k)
			sum := new(big.Int)
			for w := s.windows - 1; w >= 0; w-- {
				d := s.digit(&shifted, w)
				require.LessOrEqual(t, max(d, -d), int32(s.buckets), "c = %d, window %d", c, w)
				sum.Lsh(sum, uint(c)).Add(sum, big.NewInt(int64(d)))
			}
			want := new(big.Int)
			for i := 3; i >= 0; i-- {
				want.Lsh(want, 64).Add(want, new(big.Int).SetUint64(k[i]))
			}
			require.Equal(t, want.String(), sum.String(), "c = %d", c)
		}
	}
}

func TestAnEmptySum(t *testing.T) {
	s, units := NewSum[bls.G1Affine, curve.Affine[fp.Element], bls.G1Jac, *bls.G1Jac](portableG1(t), Dense[bls.G1Affine]{}, Ones[bls.G1Affine]{}, 2)
	assert.Empty(t, units)
	got := s.Total()
	assert.True(t, got.Z.IsZero())
}

func TestCancelledUnitsStop(t *testing.T) {
	p1, _ := points(2000)
	scalars := make([]fr.Element, len(p1))
	for i := range scalars {
		scalars[i].MustSetRandom()
	}
	g := portableG1(t)
	_, units := NewSum[bls.G1Affine, curve.Affine[fp.Element], bls.G1Jac, *bls.G1Jac](g,
		Dense[bls.G1Affine]{Points: p1, Scalars: canonical(scalars), Len: len(p1)}, Ones[bls.G1Affine]{Points: p1, At: seq(2000)}, 2)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, u := range units {
		require.ErrorIs(t, u.Do(ctx), context.Canceled)
	}
	inUse, _ := g.Pool.UsedBytes()
	assert.Zero(t, inUse)
}

func BenchmarkDenseG1(b *testing.B) {
	for _, log := range []int{10, 16} {
		n := 1 << log
		scalars := make([]fr.Element, n)
		for i := range scalars {
			scalars[i].MustSetRandom()
		}
		words := canonical(scalars)
		// Random points: those of points() are related, and meet more often.
		_, _, g, _ := bls.Generators()
		p1 := bls.BatchScalarMultiplicationG1(&g, scalars)
		b.Run(fmt.Sprintf("portable 2^%d", log), func(b *testing.B) { benchmarkDense(b, portableG1(b), p1, words) })
		benchmarkVector(b, log, p1, words)
		b.Run(fmt.Sprintf("gnark 2^%d", log), func(b *testing.B) {
			for b.Loop() {
				var sum bls.G1Jac
				_, _ = sum.MultiExp(p1, scalars, ecc.MultiExpConfig{NbTasks: 1})
			}
		})
	}
}

func benchmarkDense[P any](b *testing.B, g *Group[bls.G1Affine, P, bls.G1Jac], points []bls.G1Affine, scalars []Scalar) {
	for b.Loop() {
		total[bls.G1Affine, P, bls.G1Jac, *bls.G1Jac](b, g, Dense[bls.G1Affine]{Points: points, Scalars: scalars, Len: len(points)}, Ones[bls.G1Affine]{}, 1)
	}
}
