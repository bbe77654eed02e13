package launch_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/internal/launch"
)

func bitmap(bits []bool) []uint32 {
	words := make([]uint32, (len(bits)+31)/32)
	for i, b := range bits {
		if b {
			words[i/32] |= 1 << (i % 32)
		}
	}
	return words
}

// bits draws n bits, each set with probability share / 8.
func (r *rig) bits(n, share int) []bool {
	b := make([]bool, n)
	for i := range b {
		b[i] = r.random.IntN(8) < share
	}
	return b
}

// density uploads a bitmap with garbage past its end, and makes its ranks.
func (r *rig) density(bits []bool) launch.Density {
	n := uint32(len(bits))
	words := bitmap(bits)
	if n%32 != 0 {
		words[n/32] |= ^uint32(0) << (n % 32)
	}
	d := launch.Density{N: n, Bitmap: upload(r, words), Ranks: r.memory(launch.RanksBytes(n))}
	r.Launch(d.Calls(r.memory(launch.RankScratchBytes(n)))...)
	return d
}

func count(bits []bool) (n int) {
	for _, b := range bits {
		if b {
			n++
		}
	}
	return n
}

func TestDensityRanks(t *testing.T) {
	r := open(t)
	for _, n := range sizes([]int{0, 1, 31, 32, 33, 1023, 1024, 1025, 5000}, []int{1 << 20, 1<<22 + 5}) {
		for _, share := range []int{0, 3, 8} {
			bits := r.bits(n, share)
			d := r.density(bits)
			var want []uint32
			for first := 0; first < n; first += 1024 {
				want = append(want, uint32(count(bits[:first])))
			}
			want = append(want, uint32(count(bits)))
			requireSame(t, want, download[uint32](r, d.Ranks, len(want)), "ranks")
		}
	}
}

func TestOnes(t *testing.T) {
	const base = 3
	lengths := sizes([]int{0, 1, 33, 4095, 4096, 4097, 5000}, []int{1 << 18})
	for _, g := range []launch.Group{launch.G1, launch.G2} {
		t.Run(g.String(), func(t *testing.T) {
			r := open(t)
			logs := r.logs(base + slices.Max(lengths))
			points := r.points(g, logs)
			for _, n := range lengths {
				for _, share := range []int{0, 1, 8} {
					ones := r.bits(n, share)
					r.checkOnes(t, g, points, logs, base, ones, nil)
					r.checkOnes(t, g, points, logs, base, ones, r.bits(n, 5))
				}
			}
		})
	}
}

// TestOnesOfSeveralBatchesABlock has more variables than the largest grid has
// batches, 2048 of 4096 variables: the first two blocks take a second batch. Few
// variables have a point, all of them in batches of those blocks.
func TestOnesOfSeveralBatchesABlock(t *testing.T) {
	const blocks, batch, base = 2048, 4096, 3
	for _, g := range []launch.Group{launch.G1, launch.G2} {
		t.Run(g.String(), func(t *testing.T) {
			r := open(t)
			density, ones := make([]bool, (blocks+1)*batch+900), make([]bool, (blocks+1)*batch+900)
			for _, first := range []int{0, batch, blocks * batch, (blocks + 1) * batch} {
				for i := first; i < min(first+batch, len(ones)); i++ {
					density[i] = r.random.IntN(8) == 0
					ones[i] = r.random.IntN(2) == 0
				}
			}
			logs := r.logs(base + count(density))
			r.checkOnes(t, g, r.points(g, logs), logs, base, ones, density)
		})
	}
}

// checkOnes compares with the sum of the points' logarithms. A nil density
// stands for every variable.
func (r *rig) checkOnes(t *testing.T, g launch.Group, points launch.Range, logs []fr.Element, base int, ones, density []bool) {
	t.Helper()
	n := uint32(len(ones))
	section := launch.Section{Base: uint32(base)}
	if density != nil {
		section.Aux = r.density(density)
	}
	var want fr.Element
	for i, at := 0, base; i < len(ones); i++ {
		if density != nil && !density[i] {
			continue
		}
		if ones[i] {
			want.Add(&want, &logs[at])
		}
		at++
	}
	result := r.memory(g.SumBytes())
	for _, section.OnHost = range []bool{false, true} { // the same memory: only the way of reading differs
		r.Launch(section.Ones(g, points, upload(r, bitmap(ones)), n, r.memory(launch.OnesScratchBytes(g)), result)...)
		data := download[byte](r, result, int(result.Bytes))
		what := fmt.Sprintf("n = %d, %d ones, on the host: %v", n, count(ones), section.OnHost)
		if g == launch.G1 {
			require.Equal(t, multipleG1(want), affineG1(launch.SumsG1(data, 1)[0]), what)
		} else {
			require.Equal(t, multipleG2(want), affineG2(launch.SumsG2(data, 1)[0]), what)
		}
	}
}

// rank is the position that variable v has among the bits, or None.
func rank(bits []bool, v int) uint32 {
	if !bits[v] {
		return launch.None
	}
	return uint32(count(bits[:v]))
}

func TestPositions(t *testing.T) {
	r := open(t)
	for _, c := range []struct{ inputs, aux, dense int }{{0, 1, 1}, {1, 0, 0}, {1, 33, 10}, {40, 3000, 500}, {2000, 10, 3}} {
		inputBits, auxBits := r.bits(c.inputs, 4), r.bits(c.aux, 6)
		inputs, aux := r.density(inputBits), r.density(auxBits)
		dense := make([]uint32, c.dense)
		for i := range dense {
			dense[i] = r.random.Uint32N(uint32(c.aux))
		}
		list, n := upload(r, dense), c.inputs+c.dense
		out := r.memory(uint64(n) * 4)
		check := func(s launch.Section, want func(j int) uint32, what string) {
			r.Launch(s.Positions(list, out, uint32(c.inputs), uint32(n)))
			wanted := make([]uint32, n)
			for j := range wanted {
				wanted[j] = want(j)
			}
			requireSame(t, wanted, download[uint32](r, out, n), what)
		}
		auxPosition := func(j int, base uint32) uint32 {
			p := rank(auxBits, int(dense[j-c.inputs]))
			if p != launch.None {
				p += base
			}
			return p
		}
		check(launch.Section{}, func(j int) uint32 {
			if j < c.inputs {
				return launch.None
			}
			return dense[j-c.inputs]
		}, "l")
		check(launch.Section{Mode: launch.InputsAll, Aux: aux, Base: uint32(c.inputs)}, func(j int) uint32 {
			if j < c.inputs {
				return uint32(j)
			}
			return auxPosition(j, uint32(c.inputs))
		}, "a")
		base := uint32(count(inputBits))
		check(launch.Section{Mode: launch.InputsDensity, Inputs: inputs, Aux: aux, Base: base}, func(j int) uint32 {
			if j < c.inputs {
				return rank(inputBits, j)
			}
			return auxPosition(j, base)
		}, "b")
	}
}
