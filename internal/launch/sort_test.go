package launch_test

import (
	"fmt"
	"math/big"
	"slices"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/internal/launch"
)

// sortBatch is the number of pairs that a block sorts at a time.
const sortBatch = 8192

const sign = 1 << 31

// digits are the signed digits of s in windows of c bits, from [-2^(c-1),
// 2^(c-1) - 1], found from the lowest up with a carry.
func digits(s fr.Element, c, windows uint32) []int64 {
	var rest, low big.Int
	s.BigInt(&rest)
	half, mask := int64(1)<<(c-1), big.NewInt(1<<c-1)
	d := make([]int64, windows)
	for w := range d {
		d[w] = low.And(&rest, mask).Int64()
		rest.Rsh(&rest, uint(c))
		if d[w] >= half {
			d[w] -= 2 * half
			rest.Add(&rest, big.NewInt(1))
		}
	}
	return d
}

// sortCase is one sort: scalars and positions by index.
type sortCase struct {
	n, window, batch, first uint32
	scalar                  func(i int) fr.Element
	position                func(i int) uint32 // nil: i
}

// buckets are the values that each bucket should have, in ascending order.
func (c sortCase) buckets(p launch.MSM, scalars []fr.Element, positions []uint32) [][]uint32 {
	want := make([][]uint32, c.batch<<(c.window-1))
	for i, s := range scalars {
		at := uint32(i)
		if positions != nil {
			at = positions[i]
		}
		if at == launch.None {
			continue
		}
		for w, d := range digits(s, c.window, p.Windows)[c.first : c.first+c.batch] {
			first := w << (c.window - 1)
			switch {
			case d > 0:
				want[first+int(d)-1] = append(want[first+int(d)-1], at)
			case d < 0:
				want[first-int(d)-1] = append(want[first-int(d)-1], at|sign)
			}
		}
	}
	for _, values := range want {
		slices.Sort(values)
	}
	return want
}

// sort compares every bucket with what it should have.
func (r *rig) sort(t *testing.T, c sortCase, inTwo bool, what string) {
	t.Helper()
	scalars, positions := make([]fr.Element, c.n), []uint32(nil)
	for i := range scalars {
		scalars[i] = c.scalar(i)
		if c.position != nil {
			positions = append(positions, c.position(i))
		}
	}
	p := launch.PlanSort(c.n, c.window, c.batch, inTwo)
	in := launch.MSMInput{Scalars: upload(r, scalars), Scratch: r.memory(p.ScratchBytes())}
	if positions != nil {
		in.Positions = upload(r, positions)
	}
	r.Launch(p.SortCalls(in, c.first)...)
	want := c.buckets(p, scalars, positions)
	at, end := p.Sorted(in)
	offsets := download[uint32](r, end, len(want)+1)
	total := 0
	for _, values := range want {
		total += len(values)
	}
	require.EqualValues(t, total, offsets[len(want)], "pairs in all, %s", what)
	if total == 0 {
		return
	}
	values := download[uint32](r, at, total)
	for b := range want {
		require.LessOrEqual(t, offsets[b], offsets[b+1], "offsets of bucket %d, %s", b, what)
		got := values[offsets[b]:offsets[b+1]]
		slices.Sort(got)
		if !slices.Equal(want[b], got) {
			require.Equal(t, want[b], got, "bucket %d, %s", b, what)
		}
	}
}

// Tiles that are full, and one entry short or more; bands of 1, 2^6 and
// 2^11 buckets.
func TestSortOfEverySize(t *testing.T) {
	r := open(t)
	random := func(int) fr.Element { return r.scalar() }
	for _, n := range sizes([]int{1, 2, 31, 33, sortBatch - 1, sortBatch, sortBatch + 1, 2*sortBatch + 3}, []int{100*sortBatch + 1, 1 << 20, 1<<22 + 1}) {
		for _, inTwo := range []bool{false, true} {
			r.sort(t, sortCase{n: uint32(n), window: 8, batch: 3, first: 5, scalar: random}, inTwo, fmt.Sprint(n, " scalars"))
		}
		if n > 33 {
			r.sort(t, sortCase{n: uint32(n), window: 16, batch: 2, first: 14, scalar: random}, true, fmt.Sprint(n, " scalars"))
		}
	}
	for _, n := range sizes([]int{sortBatch / 4}, []int{sortBatch + 1, 1 << 20, 1<<22 + 1}) {
		r.sort(t, sortCase{n: uint32(n), window: 22, batch: 1, first: 3, scalar: random}, true, fmt.Sprint(n, " scalars"))
	}
}

// smallest has the digit -2^(c-1), whose bucket is the last, in every window
// below the one in which bit 240 lies.
func smallest(c uint) (s fr.Element) {
	var v, digit big.Int
	top := 240 / c * c
	v.SetBit(&v, int(top), 1)
	for w := uint(0); w < top; w += c {
		v.Sub(&v, digit.Lsh(big.NewInt(1), w+c-1))
	}
	return *s.SetBigInt(&v)
}

func TestSortOfEdgeCases(t *testing.T) {
	r := open(t)
	const n = 2*sortBatch + 77
	random, one := r.scalar(), fr.One()
	other := func(int) fr.Element { return r.scalar() }
	constant := func(x fr.Element) func(int) fr.Element { return func(int) fr.Element { return x } }
	only := func(when func(i int) bool, then func(int) fr.Element) func(int) fr.Element {
		return func(i int) fr.Element {
			if when(i) {
				return then(i)
			}
			return fr.Element{}
		}
	}
	nowhere := func(when func(i int) bool) func(int) uint32 {
		return func(i int) uint32 {
			if when(i) {
				return launch.None
			}
			return uint32(i) ^ 5<<20
		}
	}
	for name, c := range map[string]struct {
		scalar   func(i int) fr.Element
		position func(i int) uint32
	}{
		"all scalars zero":                                {constant(fr.Element{}), nil},
		"all scalars one: one bucket takes all":           {constant(one), nil},
		"all scalars equal: one bucket a window":          {constant(random), nil},
		"all in the last bucket of the windows":           {constant(smallest(16)), nil},
		"only the last scalar is not zero":                {only(func(i int) bool { return i == n-1 }, other), nil},
		"only the first batch has pairs":                  {only(func(i int) bool { return i < sortBatch }, other), nil},
		"the first batch has none":                        {only(func(i int) bool { return i >= sortBatch }, other), nil},
		"half of each warp in one bucket":                 {func(i int) fr.Element { return []fr.Element{random, r.scalar()}[i%2] }, nil},
		"runs of 40 in one bucket":                        {func(i int) fr.Element { return fr.NewElement(uint64(i / 40)) }, nil},
		"small scalars: one window has all":               {func(i int) fr.Element { return fr.NewElement(r.random.Uint64N(200)) }, nil},
		"one bucket has nearly all":                       {func(i int) fr.Element { return []fr.Element{one, r.scalar()}[b(i%1000 == 7)] }, nil},
		"positions elsewhere":                             {other, nowhere(func(int) bool { return false })},
		"no positions":                                    {other, nowhere(func(int) bool { return true })},
		"no position for every third scalar":              {other, nowhere(func(i int) bool { return i%3 == 0 })},
		"positions in the last batch alone":               {other, nowhere(func(i int) bool { return i < 2*sortBatch })},
		"equal scalars, positions for three of them only": {constant(random), nowhere(func(i int) bool { return i%(sortBatch-1) != 3 })},
	} {
		for _, first := range []uint32{0, 14} {
			r.sort(t, sortCase{n, 16, 2, first, c.scalar, c.position}, true, name)
		}
		r.sort(t, sortCase{n, 9, 1, 0, c.scalar, c.position}, true, name)
	}
}

// A band's few entries among those of many others: with bands of 2^11
// buckets each is sorted by itself, whatever the batch.
func TestSortOfSparsePartitions(t *testing.T) {
	r := open(t)
	const c = 22
	for name, step := range map[string]uint64{
		"an entry in every 16th band": 16 << 11, "an entry in every band": 1 << 11,
	} {
		n := uint32((1 << (c - 1)) / step)
		r.sort(t, sortCase{n: n, window: c, batch: 1, scalar: func(i int) fr.Element {
			return fr.NewElement(uint64(i)*step + 1)
		}}, true, name)
	}
}
