package staging

import (
	"math/rand/v2"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/engine/groth16"
	"github.com/libcuzk/libcuzk/internal/launch"
)

// witness is n scalars, each 0, 1 or dense with the given weights.
func witness(n int, zero, one, dense int) []fr.Element {
	rng := rand.New(rand.NewPCG(uint64(n), uint64(dense)))
	values := make([]fr.Element, n)
	for i := range values {
		switch k := rng.IntN(zero + one + dense); {
		case k < zero:
		case k < zero+one:
			values[i].SetOne()
		default:
			values[i].SetUint64(rng.Uint64() | 2)
		}
	}
	return values
}

func TestClassify(t *testing.T) {
	minusOne, least := fr.Element{}, fr.Element{}
	minusOne.SetInt64(-1)
	least[0] = 1 // the least Montgomery form that is not 0
	for name, vars := range map[string][]fr.Element{
		"none":                      {},
		"a single one":              witness(1, 0, 1, 0),
		"all zero":                  witness(100, 1, 0, 0),
		"all one, whole words":      witness(64, 0, 1, 0),
		"all dense, a partial word": witness(67, 0, 0, 1),
		"mixed":                     witness(1000, 5, 5, 1),
		"near the edges":            {minusOne, least, fr.One(), {}, minusOne},
	} {
		t.Run(name, func(t *testing.T) {
			bitmap := make([]uint32, (len(vars)+wordBits-1)/wordBits)
			for i := range bitmap {
				bitmap[i] = 0xdeadbeef // every word is written
			}
			indices, values := make([]uint32, len(vars)), make([]fr.Element, len(vars))
			n, bad := classify(vars, 700, bitmap, indices, values)
			require.Equal(t, -1, bad)
			k := 0
			for i := range 32 * len(bitmap) {
				isOne := i < len(vars) && vars[i].IsOne()
				require.Equal(t, isOne, bitmap[i/32]>>(i%32)&1 == 1, "bit %d", i)
				if i < len(vars) && !isOne && !vars[i].IsZero() {
					require.Equal(t, uint32(700+i), indices[k])
					require.Equal(t, vars[i], values[k])
					k++
				}
			}
			assert.Equal(t, k, n)
		})
	}
}

func TestClassifyFindsScalarsOutOfRange(t *testing.T) {
	vars := witness(100, 1, 1, 1)
	vars[77] = modulusLimbs()
	_, bad := classify(vars, 0, make([]uint32, 4), make([]uint32, 100), make([]fr.Element, 100))
	assert.Equal(t, 77, bad)

	s := &Slot{Memory: make([]byte, SlotBytes)}
	aux := append(make([]fr.Element, pieceVars), vars...)
	_, err := (&DenseList{Capacity: 10}).fill(aux, leftover{piece: 1}, s, launch.Range{})
	require.ErrorIs(t, err, groth16.ErrScalarRange)
	assert.ErrorContains(t, err, "aux[65613]") // pieceVars + 77
}

// rounds fills a list again and again, as Prove does, and returns what each
// round would have sent.
func rounds(t *testing.T, aux []fr.Element, capacity int) (sent [][]int) {
	t.Helper()
	list := &DenseList{
		Capacity: capacity,
		Indices:  launch.Range{Bytes: uint64(capacity * indexBytes)},
		Values:   launch.Range{Bytes: uint64(capacity * ScalarBytes)},
	}
	s := &Slot{Memory: make([]byte, SlotBytes)}
	round := func(of []leftover) {
		var vars []int
		for _, o := range of {
			before := list.Count()
			_, err := list.fill(aux, o, s, launch.Range{})
			require.NoError(t, err)
			_, indices, _ := split(s.Memory)
			for _, v := range indices[o.skip:][:list.Count()-before] {
				vars = append(vars, int(v))
			}
		}
		require.LessOrEqual(t, list.Count(), capacity)
		sent = append(sent, vars)
	}
	var all []leftover
	for p := range (len(aux) + pieceVars - 1) / pieceVars {
		all = append(all, leftover{piece: p})
	}
	round(all)
	for len(list.left) > 0 {
		round(list.refill())
	}
	return sent
}

func TestListInRounds(t *testing.T) {
	for name, test := range map[string]struct {
		aux      []fr.Element
		capacity int
		rounds   int
	}{
		"empty":                     {nil, 10, 1},
		"exactly full":              {witness(1000, 0, 0, 1), 1000, 1},
		"one too many":              {witness(1001, 0, 0, 1), 1000, 2},
		"several pieces, all dense": {witness(2*pieceVars+5, 0, 0, 1), pieceVars - 1, 3},
		"a piece in many rounds":    {witness(pieceVars, 1, 1, 1), 3000, 8},
	} {
		t.Run(name, func(t *testing.T) {
			sent := rounds(t, test.aux, test.capacity)
			assert.Len(t, sent, test.rounds)
			seen := map[int]bool{}
			for _, round := range sent {
				for _, v := range round {
					require.False(t, seen[v], "variable %d sent twice", v)
					seen[v] = true
				}
			}
			for v, x := range test.aux {
				require.Equal(t, !x.IsZero() && !x.IsOne(), seen[v], "variable %d", v)
			}
		})
	}
}

// BenchmarkClassify is one core's share of staging a witness.
func BenchmarkClassify(b *testing.B) {
	vars := witness(pieceVars, 511, 472, 17)
	bitmap, indices, values := split(make([]byte, SlotBytes))
	b.SetBytes(pieceVars * ScalarBytes)
	for range b.N {
		if _, bad := classify(vars, 0, bitmap, indices, values); bad >= 0 {
			b.Fatal(bad)
		}
	}
}
