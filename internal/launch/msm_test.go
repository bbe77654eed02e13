package launch_test

import (
	"fmt"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/internal/launch"
)

const ample = 1 << 40 // bytes of scratch; the plan takes what it needs

// msm runs a plan for both groups over the same scalars and compares with the
// multiple of the generator that the points' logarithms give.
func (r *rig) msm(t *testing.T, plan launch.MSM, scalars, logs []fr.Element, positions []uint32, what string) {
	t.Helper()
	in := launch.MSMInput{
		Scalars: upload(r, scalars),
		Scratch: r.memory(plan.ScratchBytes()),
	}
	var want fr.Element
	if positions == nil {
		want = dot(scalars, logs)
	} else {
		in.Positions = upload(r, positions)
		for i, p := range positions {
			if p != launch.None {
				var t fr.Element
				want.Add(&want, t.Mul(&scalars[i], &logs[p]))
			}
		}
	}
	for _, g := range plan.Groups {
		in.Points = append(in.Points, r.points(g, logs))
		in.Results = append(in.Results, r.memory(plan.ResultBytes(g)))
	}
	calls := plan.Calls(in)
	require.LessOrEqual(t, len(calls), 70, "launches")
	r.Launch(calls...)
	for i, g := range plan.Groups {
		data := download[byte](r, in.Results[i], int(plan.ResultBytes(g)))
		if g == launch.G1 {
			require.Equal(t, multipleG1(want), affineG1(plan.ResultG1(data)), "G1, %s", what)
		} else {
			require.Equal(t, multipleG2(want), affineG2(plan.ResultG2(data)), "G2, %s", what)
		}
	}
}

func plan(t *testing.T, n int, groups ...launch.Group) launch.MSM {
	t.Helper()
	p, err := launch.PlanMSM(uint32(n), ample, groups...)
	require.NoError(t, err)
	return p
}

// TestCallsStayWithinTheScratch plans for less and less scratch: a last, smaller
// batch of windows must fit it too. At 2^21 scalars in batches of 10 windows of
// 10 bits, the last batch has so many fewer runs that fewer of them would be
// merged at a time, into more heads than the first batch has.
func TestCallsStayWithinTheScratch(t *testing.T) {
	for log := range 29 {
		n := uint32(1) << log
		for _, g := range []launch.Group{launch.G1, launch.G2} {
			full := plan(t, int(n), g).ScratchBytes()
			for limit := full; ; limit = limit * 7 / 8 {
				p, err := planFor(n, limit, g)
				if err != nil {
					break
				}
				whole := launch.Range{Bytes: 1 << 40}
				scratch := launch.Range{Addr: 1 << 41, Bytes: p.ScratchBytes()}
				require.LessOrEqual(t, scratch.Bytes, limit)
				calls := p.Calls(launch.MSMInput{
					Scalars: whole, Points: []launch.Range{whole},
					Results: []launch.Range{{Bytes: p.ResultBytes(g)}}, Scratch: scratch,
				})
				for _, c := range calls {
					for _, a := range c.Touches {
						at := uint64(a.Base)
						inScratch := at >= scratch.Addr
						require.True(t, !inScratch || at+a.Bytes <= scratch.Addr+scratch.Bytes, "%s, 2^%d in %d bytes", c.Kernel.Name, log, limit)
					}
				}
			}
		}
	}
}

// affineRuns are runs within a bucket, of several, and longer than everything;
// of one pair there is nothing to add.
var affineRuns = []uint32{1, 2, 3, 7, 64, 512}

// planFor is what a sum over a section of the group gets.
func planFor(n uint32, limit uint64, g launch.Group) (launch.MSM, error) {
	if g == launch.G1 {
		return launch.PlanAffineMSM(n, limit)
	}
	return launch.PlanMSM(n, limit, g)
}

func TestMSMOfEverySize(t *testing.T) {
	r := open(t)
	for _, n := range sizes([]int{0, 1, 2, 3, 4, 5, 31, 32, 33, 127, 128, 129, 600},
		[]int{1023, 1024, 1025, 16383, 16384, 16385, 1<<19 + 1}) {
		p, logs := plan(t, n, launch.G1, launch.G2), r.logs(n)
		r.msm(t, p, r.scalars(n), logs, nil, "random")
		p = plan(t, n, launch.G1)
		r.msm(t, p.InBands(), r.scalars(n), logs, nil, "random, sorted in two steps")
		for _, run := range affineRuns {
			if n <= 1<<15 || run >= 64 { // with many buckets a run the test takes a minute on a GPU
				r.msm(t, p.Affine(run), r.scalars(n), logs, nil, fmt.Sprintf("random, affine in runs of %d", run))
			}
		}
	}
}

func TestMSMOfEdgeScalars(t *testing.T) {
	r := open(t)
	one, minusOne, half := fr.One(), fr.Element{}, fr.NewElement(2)
	minusOne.SetInt64(-1)
	half.Inverse(&half)
	fill := func(n int, f func(i int) fr.Element) []fr.Element {
		s := make([]fr.Element, n)
		for i := range s {
			s[i] = f(i)
		}
		return s
	}
	random := r.scalar()
	cases := map[string]func(i int) fr.Element{
		"all zero":                      func(int) fr.Element { return fr.Element{} },
		"all one":                       func(int) fr.Element { return one },
		"all r - 1":                     func(int) fr.Element { return minusOne },
		"all (r + 1) / 2":               func(int) fr.Element { return half },
		"all equal":                     func(int) fr.Element { return random },
		"powers of two":                 func(i int) fr.Element { return power(fr.NewElement(2), uint64(i%255)) },
		"powers of two, negated":        func(i int) fr.Element { p := power(fr.NewElement(2), uint64(i%255)); return *p.Neg(&p) },
		"one value other than zero":     func(i int) fr.Element { return map[bool]fr.Element{true: random}[i == 77] },
		"half equal, the others random": func(i int) fr.Element { return map[bool]fr.Element{true: random, false: r.scalar()}[i%2 == 0] },
	}
	for _, n := range sizes([]int{200}, []int{30000}) {
		p, logs := plan(t, n, launch.G1, launch.G2), r.logs(n)
		for name, f := range cases {
			scalars := fill(n, f)
			r.msm(t, p, scalars, logs, nil, name)
			r.msm(t, plan(t, n, launch.G1).InBands(), scalars, logs, nil, name+", sorted in two steps")
			for _, run := range affineRuns {
				r.msm(t, plan(t, n, launch.G1).Affine(run), scalars, logs, nil, fmt.Sprintf("%s, affine in runs of %d", name, run))
			}
		}
		r.msmOfEdgePoints(t, p, n)
		for _, run := range affineRuns {
			r.msmOfEdgePoints(t, plan(t, n, launch.G1).Affine(run), n)
		}
	}
}

// msmOfEdgePoints runs a plan with points that meet each other or infinity.
func (r *rig) msmOfEdgePoints(t *testing.T, p launch.MSM, n int) {
	t.Helper()
	random := r.scalar()
	fill := func(f func(i int) fr.Element) []fr.Element {
		s := make([]fr.Element, n)
		for i := range s {
			s[i] = f(i)
		}
		return s
	}
	same := fill(func(int) fr.Element { return random })
	opposite := fill(func(i int) fr.Element {
		if i%2 == 0 {
			return random
		}
		return *new(fr.Element).Neg(&random)
	})
	third := fill(func(i int) fr.Element { return map[bool]fr.Element{false: r.scalar()}[i%3 == 0] })
	what := fmt.Sprintf(" (%+v)", p)
	r.msm(t, p, r.scalars(n), same, nil, "all points equal"+what)
	r.msm(t, p, same, same, nil, "all points and scalars equal"+what)
	r.msm(t, p, same, opposite, nil, "points that cancel"+what)
	r.msm(t, p, same, third, nil, "a third of the points at infinity"+what)
	r.msm(t, p, r.scalars(n), make([]fr.Element, n), nil, "all points at infinity"+what)
}

func TestMSMOfGatheredPoints(t *testing.T) {
	r := open(t)
	const n, pool = 300, 40
	positions := make([]uint32, n)
	for i := range positions {
		positions[i] = r.random.Uint32N(pool)
		if r.random.IntN(5) == 0 {
			positions[i] = launch.None
		}
	}
	p := plan(t, n, launch.G1, launch.G2)
	r.msm(t, p, r.scalars(n), r.logs(pool), positions, "gathered")
	r.msm(t, p.InBands(), r.scalars(n), r.logs(pool), positions, "gathered, sorted in two steps")
	for i := range positions {
		positions[i] = launch.None
	}
	r.msm(t, p, r.scalars(n), r.logs(pool), positions, "no positions")
}

// Every window size, and windows in batches down to one at a time.
func TestMSMPlans(t *testing.T) {
	r := open(t)
	const n = 150
	scalars, logs := r.scalars(n), r.logs(n)
	whole := plan(t, n, launch.G1)
	for limit := whole.ScratchBytes(); ; limit = limit * 2 / 3 {
		p, err := launch.PlanMSM(n, limit, launch.G1)
		if err != nil {
			assert.ErrorContains(t, err, "bytes of scratch")
			assert.Greater(t, p.ScratchBytes(), limit)
			break
		}
		require.LessOrEqual(t, p.ScratchBytes(), limit)
		for _, p := range []launch.MSM{p, p.InBands(), p.Affine(5)} {
			in := launch.MSMInput{
				Scalars: upload(r, scalars), Scratch: r.memory(p.ScratchBytes()),
				Points: []launch.Range{upload(r, pointsG1(logs))}, Results: []launch.Range{r.memory(p.ResultBytes(launch.G1))},
			}
			for _, c := range p.Calls(in) { // one by one: with tiny scratch they are many
				r.Launch(c)
			}
			got := p.ResultG1(download[byte](r, in.Results[0], int(in.Results[0].Bytes)))
			require.Equal(t, multipleG1(dot(scalars, logs)), affineG1(got), "%d windows of %d bits, %d at a time", p.Windows, p.Window, p.Batch)
		}
	}
}

// Where a sum of 2^27 or 2^28 scalars is left without affine additions, it has few
// pairs at a time, or no room for the columns, even those of short runs.
func TestAffineAdditionsWhereverTheyFit(t *testing.T) {
	for _, n := range []uint32{1 << 27, 1<<28 - 1, 1 << 28} {
		for limit := uint64(ample); ; limit = limit * 31 / 32 {
			p, err := launch.PlanAffineMSM(n, limit)
			require.NoError(t, err)
			pairs := uint64(p.Batch) * uint64(n)
			if p.AffineRun() == 0 && pairs >= 1<<28 {
				require.Greater(t, p.Affine(128).ScratchBytes(), limit, "%d scalars, %d of %d windows at a time", n, p.Batch, p.Windows)
			}
			if limit < 4<<30 {
				break
			}
		}
	}
}

func TestMSMPlanOfLargeSizes(t *testing.T) {
	for log := 14; log <= 27; log++ {
		for _, limit := range []uint64{ample, 6 << 30, 2 << 30} {
			p, err := launch.PlanAffineMSM(1<<log-1, limit)
			require.NoError(t, err)
			require.LessOrEqual(t, p.ScratchBytes(), limit)
			huge := launch.Range{Addr: 1 << 20, Bytes: 1 << 40}
			calls := p.Calls(launch.MSMInput{
				Scalars: huge, Scratch: huge, Points: []launch.Range{huge}, Results: []launch.Range{huge},
			})
			t.Logf("2^%d, scratch limit %d MiB: %d windows of %d bits, %d at a time, %d launches, %d MiB",
				log, limit>>20, p.Windows, p.Window, p.Batch, len(calls), p.ScratchBytes()>>20)
		}
	}
}
