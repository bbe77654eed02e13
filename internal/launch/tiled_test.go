package launch_test

import (
	"fmt"
	"math/bits"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/internal/launch"
)

func tiledPlan(t *testing.T, n, tile int, g launch.Group) launch.TiledMSM {
	t.Helper()
	p, err := launch.PlanTiledMSM(uint32(n), uint32(tile), ample, g)
	require.NoError(t, err)
	return p
}

// tiled sums up in tiles of the given lengths and compares with the multiple of
// the generator that the points' logarithms give.
func (r *rig) tiled(t *testing.T, p launch.TiledMSM, scalars, logs []fr.Element, lengths []int, what string) {
	t.Helper()
	scratch, result := r.memory(p.ScratchBytes()), r.memory(p.ResultBytes())
	r.Launch(p.Reset(scratch)...)
	at := 0
	for _, n := range lengths {
		calls := p.Tile(launch.TileInput{
			N: uint32(n), Scalars: upload(r, scalars[at:at+n]), Points: r.points(p.Group, logs[at:at+n]), Scratch: scratch,
		})
		require.LessOrEqual(t, len(calls), maxTileCalls)
		r.Launch(calls...)
		at += n
	}
	require.Equal(t, len(scalars), at, "the tiles make up the whole")
	r.Launch(p.Reduce(scratch, result)...)
	want, data := dot(scalars, logs), download[byte](r, result, int(result.Bytes))
	if p.Group == launch.G1 {
		require.Equal(t, multipleG1(want), affineG1(p.ResultG1(data)), what)
	} else {
		require.Equal(t, multipleG2(want), affineG2(p.ResultG2(data)), what)
	}
}

// maxTileCalls is well below the 150 driver calls of a piece (design: two locks).
const maxTileCalls = 18

// split is n in tiles of `tile`, the last one smaller.
func split(n, tile int) (lengths []int) {
	for ; n > tile; n -= tile {
		lengths = append(lengths, tile)
	}
	return append(lengths, n)
}

func TestTiledMSMOfEverySize(t *testing.T) {
	r := open(t)
	for _, c := range tiledSizes() {
		scalars, logs := r.scalars(c.n), r.logs(c.n)
		for i, tile := range c.tiles {
			g, what := launch.Group(i%2), fmt.Sprintf("%d points in tiles of %d", c.n, tile)
			r.tiled(t, tiledPlan(t, c.n, tile, g), scalars, logs, split(c.n, tile), what)
			if tile == c.inTwo {
				r.tiled(t, tiledPlan(t, c.n, tile, launch.G1).InBands(), scalars, logs, split(c.n, tile), what+", sorted in two steps")
			}
		}
	}
}

type tiledSize struct {
	n     int
	tiles []int
	inTwo int // the tile that is sorted in two steps too, which takes the simulator long
}

func tiledSizes() []tiledSize {
	s := []tiledSize{{1, []int{1}, 1}, {2, []int{1, 2}, 0}, {3, []int{2, 4}, 2}, {33, []int{16, 32}, 32},
		{255, []int{100}, 0}, {256, []int{64, 256}, 0}, {257, []int{256, 1000}, 256}}
	if onDevice() && !testing.Short() {
		s = append(s, tiledSize{16383, []int{4096, 16384}, 4096}, tiledSize{16384, []int{4096, 1000}, 1000},
			tiledSize{16385, []int{16384, 4096}, 16384}, tiledSize{1<<17 + 1, []int{1 << 16, 1 << 15}, 1 << 16})
	}
	return s
}

// A plan's tiles may be shorter than planned, in any order.
func TestTiledMSMInUnequalTiles(t *testing.T) {
	r := open(t)
	const n = 200
	scalars, logs := r.scalars(n), r.logs(n)
	for _, lengths := range [][]int{{1, n - 1}, {n - 1, 1}, {1, 2, 3, 94, 100}, {150, 7, 43}} {
		for _, g := range []launch.Group{launch.G1, launch.G2} {
			r.tiled(t, tiledPlan(t, n, n, g), scalars, logs, lengths, fmt.Sprintf("%v, %d", g, lengths))
		}
	}
	lengths := []int{3, n - 3}
	r.tiled(t, tiledPlan(t, n, n, launch.G1).InBands(), scalars, logs, lengths, "sorted in two steps")
}

// Buckets meet over tiles what they meet within one: everything in one bucket,
// buckets that span runs, doubling, cancelling, points at infinity.
func TestTiledMSMOfEdgeCases(t *testing.T) {
	r := open(t)
	random := r.scalar()
	minus := *new(fr.Element).Neg(&random)
	minusOne := *new(fr.Element).SetInt64(-1)
	fill := func(n int, f func(i int) fr.Element) []fr.Element {
		s := make([]fr.Element, n)
		for i := range s {
			s[i] = f(i)
		}
		return s
	}
	constant := func(x fr.Element) func(int) fr.Element { return func(int) fr.Element { return x } }
	other := func(int) fr.Element { return r.scalar() }
	for _, size := range sizes([]int{60}, []int{5000}) {
		n := 4 * size // in tiles of `size`
		inTile := func(i int) int { return i / size }
		cases := map[string]struct{ scalars, logs func(i int) fr.Element }{
			"all scalars zero":                               {constant(fr.Element{}), other},
			"all scalars one: a bucket takes all":            {constant(fr.One()), other},
			"all scalars r - 1":                              {constant(minusOne), other},
			"all scalars equal":                              {constant(random), other},
			"scalars equal, points equal: doublings":         {constant(random), constant(random)},
			"all points at infinity":                         {other, constant(fr.Element{})},
			"points at infinity in every other tile":         {constant(random), func(i int) fr.Element { return []fr.Element{{}, r.scalar()}[inTile(i)%2] }},
			"scalars zero in every other tile":               {func(i int) fr.Element { return []fr.Element{r.scalar(), {}}[inTile(i)%2] }, other},
			"P in one tile, -P in the next":                  {constant(random), func(i int) fr.Element { return []fr.Element{random, minus}[inTile(i)%2] }},
			"s in one tile, -s in the next":                  {func(i int) fr.Element { return []fr.Element{random, minus}[inTile(i)%2] }, constant(random)},
			"one point in all, in the third tile":            {func(i int) fr.Element { return []fr.Element{{}, random}[b(i == 2*size+7)] }, other},
			"the sum of the tiles before is infinity":        {constant(fr.One()), func(i int) fr.Element { return []fr.Element{random, minus, random, random}[inTile(i)] }},
			"the first tile empty":                           {func(i int) fr.Element { return []fr.Element{r.scalar(), {}}[b(i < size)] }, other},
			"one point in the first tile, of every bucket's": {func(i int) fr.Element { return []fr.Element{fr.One(), {}}[b(i > 0 && i < size)] }, constant(random)},
		}
		for name, c := range cases {
			scalars, logs := fill(n, c.scalars), fill(n, c.logs)
			for _, g := range []launch.Group{launch.G1, launch.G2} {
				r.tiled(t, tiledPlan(t, n, size, g), scalars, logs, split(n, size), fmt.Sprintf("%v, %s", g, name))
			}
		}
	}
}

// b is an index of two.
func b(condition bool) int {
	if condition {
		return 1
	}
	return 0
}

// Every window size that is chosen when memory gets short gives the same sum.
func TestTiledMSMPlans(t *testing.T) {
	r := open(t)
	const n, tile = 150, 40
	scalars, logs := r.scalars(n), r.logs(n)
	for limit := tiledPlan(t, n, tile, launch.G1).ScratchBytes(); ; limit = limit * 3 / 4 {
		p, err := launch.PlanTiledMSM(n, tile, limit, launch.G1)
		if err != nil {
			assert.ErrorContains(t, err, fmt.Sprintf("bytes of scratch, %d are allowed", limit))
			break
		}
		require.LessOrEqual(t, p.ScratchBytes(), limit)
		r.tiled(t, p, scalars, logs, split(n, tile), fmt.Sprintf("%d windows of %d bits", p.Windows(), p.Window()))
	}
	for _, bad := range [][2]uint32{{0, 1}, {1, 0}, {1 << 25, 1<<24 + 1}} {
		_, err := launch.PlanTiledMSM(bad[0], bad[1], ample, launch.G1)
		assert.ErrorContains(t, err, "1 to 16777216 a tile")
	}
}

// Calls of one MSM touch nothing outside its scratch, and what stays from tile
// to tile, the buckets, is touched only by the sums.
func TestTiledCallsStayWithinTheScratch(t *testing.T) {
	whole := launch.Range{Bytes: 1 << 40}
	for log := range 29 {
		n := 1 << log
		for _, g := range []launch.Group{launch.G1, launch.G2} {
			for tile := max(n/64, 1); tile <= min(n, 1<<24); tile *= 4 {
				p := tiledPlan(t, n, tile, g)
				scratch := launch.Range{Addr: 1 << 41, Bytes: p.ScratchBytes()}
				calls := p.Reset(scratch)
				for _, length := range []int{tile, max(tile-1, 1), max(tile/3, 1), 1} {
					tiled := p.Tile(launch.TileInput{N: uint32(length), Scalars: whole, Points: whole, Scratch: scratch})
					require.LessOrEqual(t, len(tiled), maxTileCalls, "calls a tile")
					calls = append(calls, tiled...)
				}
				calls = append(calls, p.Reduce(scratch, launch.Range{Bytes: p.ResultBytes()})...)
				for _, c := range calls {
					for _, a := range c.Touches {
						at := uint64(a.Base)
						inScratch := at >= scratch.Addr
						require.True(t, !inScratch || at+a.Bytes <= scratch.Addr+scratch.Bytes, "%s, 2^%d", c.Kernel.Name, log)
					}
				}
			}
		}
	}
}

// TestTiledPlanOfLargeSizes holds the numbers that budgets are planned with.
func TestTiledPlanOfLargeSizes(t *testing.T) {
	for _, c := range []struct {
		log, tileLog int
		limitMiB     uint64
		window       uint32
	}{
		{27, 21, 1 << 20, 20},
		{27, 21, 2048, 20},
		{27, 21, 1024, 18},
		{24, 20, 1 << 20, 19},
		{24, 19, 450, 16},
		{22, 18, 1 << 20, 16},
		{22, 17, 128, 15},
	} {
		p, err := launch.PlanTiledMSM(1<<c.log, 1<<c.tileLog, c.limitMiB<<20, launch.G1)
		require.NoError(t, err)
		require.LessOrEqual(t, p.ScratchBytes(), c.limitMiB<<20)
		huge := launch.Range{Addr: 1 << 20, Bytes: 1 << 40}
		calls := len(p.Tile(launch.TileInput{N: 1 << c.tileLog, Scalars: huge, Points: huge, Scratch: huge}))
		t.Logf("2^%d in tiles of 2^%d, limit %d MiB: %d windows of %d bits, %d calls a tile, %d to reduce, %d MiB of scratch",
			c.log, c.tileLog, c.limitMiB, p.Windows(), p.Window(), calls, len(p.Reduce(huge, huge)), p.ScratchBytes()>>20)
		assert.Equal(t, c.window, p.Window(), "2^%d in tiles of 2^%d, limit %d MiB", c.log, c.tileLog, c.limitMiB)
	}
}

// What a job has beside its three blocks of m scalars, when 16 GiB are enough
// for 2^27, is about 2 GiB for the two tiles and the scratch; and in proportion.
func TestTiledPlansFitAShareOfTheDomain(t *testing.T) {
	for log := 18; log <= 28; log++ {
		limit, tile := uint64(2<<30)>>27<<log, uint32(1)<<(log-6)
		tiles := 2 * uint64(tile) * launch.G1.AffineBytes()
		p, err := launch.PlanTiledMSM(1<<log, tile, limit-tiles, launch.G1)
		require.NoError(t, err, "2^%d in tiles of %d, %d bytes", log, tile, limit)
		require.LessOrEqual(t, p.ScratchBytes()+tiles, limit)
		t.Logf("2^%d: %d windows of %d bits, %d KiB", log, p.Windows(), p.Window(), (p.ScratchBytes()+tiles)>>10)
		require.GreaterOrEqual(t, int(p.Window()), log-9, "windows of a useful size")
	}
}

func TestReverse(t *testing.T) {
	r := open(t)
	for _, logSize := range sizes([]int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13}, []int{16, 19, 20, 23}) {
		n := 1 << logSize
		x := r.scalars(n)
		v := upload(r, x)
		r.Launch(launch.Reverse(v, uint32(logSize)))
		requireSame(t, reversed(x), download[fr.Element](r, v, n), fmt.Sprintf("2^%d reversed", bits.Len(uint(n))-1))
	}
}
