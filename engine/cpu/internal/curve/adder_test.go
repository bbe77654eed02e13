package curve

import (
	"fmt"
	"math/rand/v2"
	"testing"

	bls "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func randomPoints(n int) ([]bls.G1Affine, []bls.G2Affine) {
	scalars := make([]fr.Element, n)
	for i := range scalars {
		scalars[i].MustSetRandom()
	}
	_, _, g1, g2 := bls.Generators()
	return bls.BatchScalarMultiplicationG1(&g1, scalars), bls.BatchScalarMultiplicationG2(&g2, scalars)
}

// point is what the tests need of an affine point.
type point[A any] interface {
	*A
	Add(a, b *A) *A
	Neg(*A) *A
	Equal(*A) bool
}

// testAdder compares n additions, chained over several levels, with
// gnark-crypto's.
func testAdder[A, P any, PA point[A]](t *testing.T, k Adder[A, P], points []A) {
	n := len(points)
	rng := rand.New(rand.NewPCG(3, uint64(n)))
	const levels = 4
	arena := make([]P, (levels+1)*n)
	want := make([]A, (levels+1)*n)
	k.Begin()
	k.Load(arena[:n], points, nil)
	copy(want, points)
	for i := range n {
		require.Equal(t, want[i], k.Store(&arena[i]), "loaded point %d", i)
	}
	for level := 1; level <= levels; level++ {
		var pairs []Pair
		for i := range n {
			pair := Pair{A: Ref(rng.IntN(level * n)), B: Ref(rng.IntN(level * n)), Dst: Ref(level*n + i)}
			if rng.IntN(2) == 0 {
				pair.A |= Neg
			}
			if rng.IntN(2) == 0 {
				pair.B |= Neg
			}
			pairs = append(pairs, pair)
			a, b := want[pair.A&^Neg], want[pair.B&^Neg]
			if pair.A&Neg != 0 {
				PA(&a).Neg(&a)
			}
			if pair.B&Neg != 0 {
				PA(&b).Neg(&b)
			}
			PA(&want[pair.Dst]).Add(&a, &b)
		}
		k.Add(arena, pairs)
		for i := level * n; i < (level+1)*n; i++ {
			got := k.Store(&arena[i])
			require.True(t, PA(&got).Equal(&want[i]), "level %d, pair %d of %d: %v", level, i-level*n, n, pairs[i-level*n])
		}
	}
	// In place, and moved with either sign.
	k.Add(arena, []Pair{{A: 0, B: Ref(n - 1), Dst: 0}})
	PA(&want[0]).Add(&want[0], &want[n-1])
	k.Move(arena, 1, 0|Neg)
	k.Move(arena, 2, 0)
	assert.Equal(t, want[0], k.Store(&arena[0]))
	assert.Equal(t, want[0], k.Store(&arena[2]))
	PA(&want[0]).Neg(&want[0])
	assert.Equal(t, want[0], k.Store(&arena[1]))
}

func TestAdders(t *testing.T) {
	g1, g2 := randomPoints(1000)
	for _, n := range []int{4, 7, 8, 9, 64, 1000} {
		cases := map[string]struct {
			g1 []bls.G1Affine
			g2 []bls.G2Affine
		}{
			"different points":           {g1[:n], g2[:n]},
			"few different points":       {repeat(g1, n, 3), repeat(g2, n, 3)},
			"one point":                  {repeat(g1, n, 1), repeat(g2, n, 1)},
			"some points at infinity":    {withInfinity(g1, n, 3), withInfinity(g2, n, 3)},
			"only the point at infinity": {withInfinity(g1, n, 1), withInfinity(g2, n, 1)},
		}
		for name, c := range cases {
			t.Run(fmt.Sprintf("%d pairs, %s", n, name), func(t *testing.T) {
				for name, k := range addersG1() {
					t.Run(name, func(t *testing.T) { k(t, c.g1) })
				}
				for name, k := range addersG2() {
					t.Run(name, func(t *testing.T) { k(t, c.g2) })
				}
			})
		}
	}
}

func repeat[A any](points []A, n, distinct int) []A {
	out := make([]A, n)
	for i := range out {
		out[i] = points[i%distinct]
	}
	return out
}

func withInfinity[A any](points []A, n, every int) []A {
	out := append([]A{}, points[:n]...)
	for i := 0; i < n; i += every {
		out[i] = *new(A)
	}
	return out
}

func TestLoadByIndex(t *testing.T) {
	g1, g2 := randomPoints(50)
	at := []uint32{49, 3, 3, 0, 17, 21, 48, 1, 2, 5, 30}
	check := func(t *testing.T, equal func(i int, j uint32) bool) {
		for i, j := range at {
			assert.True(t, equal(i, j), "point %d", i)
		}
	}
	t.Run("portable G1", func(t *testing.T) {
		k := NewPortableG1()
		arena := makeArena(k, len(at))
		k.Load(arena, g1, at)
		check(t, func(i int, j uint32) bool { return k.Store(&arena[i]) == g1[j] })
	})
	t.Run("portable G2", func(t *testing.T) {
		k := NewPortableG2()
		arena := makeArena(k, len(at))
		k.Load(arena, g2, at)
		check(t, func(i int, j uint32) bool { return k.Store(&arena[i]) == g2[j] })
	})
	testLoadByIndexHere(t, g1, g2, at, check)
}

func makeArena[A, P any](_ Adder[A, P], n int) []P { return make([]P, n) }
