package cuda

import (
	"context"
	"sync"

	bls "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"golang.org/x/sync/errgroup"

	"github.com/libcuzk/libcuzk/cuda/driver"
	"github.com/libcuzk/libcuzk/cuda/internal/plan"
	"github.com/libcuzk/libcuzk/engine/groth16"
	"github.com/libcuzk/libcuzk/engine/srs"
	"github.com/libcuzk/libcuzk/internal/launch"
	"github.com/libcuzk/libcuzk/internal/sched"
)

// round is one pass over the dense list, and its results: on the card they
// lie in the job's witness block, which the next round uses again.
type round struct {
	card   launch.Range
	host   []byte // pinned, as large as card
	used   uint64
	copied *sched.Mark
	parts  []func(*total) // read host
}

// take is room for one result, on the card and where its copy will be.
func (r *round) take(bytes uint64) (launch.Range, []byte) {
	at, host := r.card.Slice(r.used, bytes), r.host[r.used:][:bytes]
	r.used += bytes
	return at, host
}

// join adds the round's results to the sums, on several cores.
func (r *round) join(sums *total) {
	var g errgroup.Group
	for _, part := range r.parts {
		g.Go(func() error {
			part(sums)
			return nil
		})
	}
	_ = g.Wait() // no part fails
}

// total adds sums up.
type total struct {
	mu sync.Mutex
	groth16.Sums
}

func newTotal() *total {
	t := &total{}
	for _, p := range []*bls.G1Jac{&t.H, &t.L, &t.A, &t.B1} {
		p.X.SetOne()
		p.Y.SetOne()
	}
	t.B2.X.SetOne()
	t.B2.Y.SetOne()
	return t
}

// addG1 adds p to the sum of a section.
func (t *total) addG1(of srs.Section, p *bls.G1Jac) {
	t.mu.Lock()
	defer t.mu.Unlock()
	[...]*bls.G1Jac{&t.H, &t.L, &t.A, &t.B1}[of].AddAssign(p)
}

func (t *total) addG2(p *bls.G2Jac) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.B2.AddAssign(p)
}

// sections says which points the variables have in l, a and b.
type sections struct{ l, a, b launch.Section }

func newSections(a *groth16.Assignment, s plan.Shape, w *plan.Witness) sections {
	return sections{
		l: launch.Section{Mode: launch.InputsNone},
		a: launch.Section{Mode: launch.InputsAll, Aux: w.AAux, Base: s.Inputs},
		b: launch.Section{Mode: launch.InputsDensity, Inputs: w.BInputs, Aux: w.BAux, Base: uint32(a.BInputs.Popcount)},
	}
}

func (s *sections) of(section srs.Section) launch.Section {
	switch section {
	case srs.SectionL:
		return s.l
	case srs.SectionA:
		return s.a
	}
	return s.b
}

// beginRound takes room for a round's results.
func (j *job) beginRound(ctx context.Context) error {
	r := &round{card: j.layout.Results}
	err := j.lane(ctx, sched.Compute).Enqueue(func(b *driver.Bound, _ driver.Stream) (err error) {
		r.host, err = j.Results.Take(b)
		return err
	})
	if err != nil {
		return err
	}
	j.round = r
	j.rounds = append(j.rounds, r)
	return nil
}

// endRound enqueues the copy of the round's results, behind the branches.
func (j *job) endRound(ctx context.Context) error {
	if err := j.join(ctx); err != nil {
		return err
	}
	r := j.round
	err := j.lane(ctx, sched.Compute).Enqueue(func(b *driver.Bound, s driver.Stream) error {
		return b.CopyToHost(r.host[:r.used], driver.DevicePtr(r.card.Addr), s)
	}, plan.BlockWitness)
	if err != nil {
		return err
	}
	r.copied, err = j.ticket.Record(sched.Compute)
	return err
}

// nextRound stages what the list had no room for, behind the kernels that read
// the list last, and enqueues the sums over it.
func (j *job) nextRound(ctx context.Context) error {
	if n, ahead := len(j.rounds), j.plan.RoundsAhead(); n >= ahead {
		if err := j.ticket.Await(ctx, j.rounds[n-ahead].copied); err != nil {
			return err
		}
	}
	if err := j.ticket.Order(sched.Tiles, j.round.copied); err != nil {
		return err
	}
	err := j.Tiles.Send(ctx, j.lane(ctx, sched.Tiles), j.list.Rest(j.task.Assignment.Aux, plan.BlockWitness))
	if err != nil {
		return err
	}
	staged, err := j.ticket.Record(sched.Tiles)
	if err != nil {
		return err
	}
	if err := j.ticket.Order(sched.Compute, staged); err != nil {
		return err
	}
	if err := j.beginRound(ctx); err != nil {
		return err
	}
	if err := j.fork(ctx); err != nil {
		return err
	}
	if err := j.enqueueBranches(ctx, 0, false); err != nil {
		return err
	}
	return j.endRound(ctx)
}

// sumH enqueues the MSM of the quotient, whose coefficients lie in block A.
func (j *job) sumH(ctx context.Context) error {
	m, err := j.plan.MSM(srs.SectionH, 1<<j.logSize)
	if err != nil {
		return err
	}
	h := j.block(plan.BlockA).Slice(0, launch.FrBytes<<j.logSize)
	calls := m.Calls(launch.MSMInput{
		Scalars: h,
		Points:  []launch.Range{j.points(srs.SectionH).Slice(0, launch.G1.AffineBytes()<<j.logSize)},
		Results: []launch.Range{j.result(srs.SectionH, m)},
		Scratch: j.scratch(srs.SectionH),
	})
	// The coefficients are free once the last windows have been sorted.
	last := lastTouch(calls, h)
	if err := j.launch(ctx, "h: windows", calls[:last+1], j.withSet(plan.BlockA, plan.BlockWitness, plan.BlockScratch)...); err != nil {
		return err
	}
	if err := j.handOn(plan.BlockA); err != nil {
		return err
	}
	return j.launch(ctx, "h: rest", calls[last+1:], j.withSet(plan.BlockWitness, plan.BlockScratch)...)
}

// lastTouch is the index of the last call that touches r.
func lastTouch(calls []launch.Call, r launch.Range) int {
	last := 0
	for i, c := range calls {
		for _, a := range c.Touches {
			if at := uint64(a.Base); at < r.Addr+r.Bytes && r.Addr < at+a.Bytes {
				last = i
			}
		}
	}
	return last
}

// ranks enqueues what the branches need to find points by variable.
func (j *job) ranks(ctx context.Context) error {
	var calls []launch.Call
	for _, d := range []launch.Density{j.layout.AAux, j.layout.BAux, j.layout.BInputs} {
		calls = append(calls, d.Calls(j.scratch(srs.SectionH))...)
	}
	return j.launch(ctx, "ranks", calls, plan.BlockWitness, plan.BlockScratch)
}

// branch is the calls that add up one section: over the aux variables that
// are one, if this is the first round, and over the list. The list's first
// entries are the given number of inputs.
func (j *job) branch(of srs.Section, inputs uint32, first bool) ([]launch.Call, error) {
	section, g := j.sections.of(of), plan.GroupOf(of)
	section.OnHost = j.plan.Streams
	var calls []launch.Call
	if first {
		at, host := j.round.take(g.SumBytes())
		calls = section.Ones(g, j.points(of), j.layout.Ones, j.plan.Aux, j.scratch(of), at)
		j.round.parts = append(j.round.parts, func(t *total) {
			if g == launch.G2 {
				t.addG2(&launch.SumsG2(host, 1)[0])
			} else {
				t.addG1(of, &launch.SumsG1(host, 1)[0])
			}
		})
	}
	n := inputs + uint32(j.list.Count())
	if n == 0 {
		return calls, nil
	}
	values := j.layout.Values
	if inputs == 0 {
		values = j.list.Values
	}
	positions := j.layout.Positions[of].Slice(0, uint64(n)*launch.WordBytes)
	calls = append(calls, section.Positions(j.layout.Indices, positions, inputs, n))
	scalars := values.Slice(0, uint64(n)*launch.FrBytes)
	if j.plan.Streams {
		return append(calls, j.sumGathered(of, scalars, positions, n)...), nil
	}
	m, err := j.plan.MSM(of, n)
	if err != nil {
		return nil, err
	}
	return append(calls, m.Calls(launch.MSMInput{
		Scalars:   scalars,
		Positions: positions,
		Points:    []launch.Range{j.points(of)},
		Results:   []launch.Range{j.result(of, m)},
		Scratch:   j.scratch(of),
	})...), nil
}

// scratch is the part of the scratch block that a section's kernels work in.
func (j *job) scratch(of srs.Section) launch.Range {
	part := j.plan.Scratch[of]
	return j.block(plan.BlockScratch).Slice(part.Offset, part.Bytes)
}

// points is where kernels find a section's points: on the card, or in host
// memory.
func (j *job) points(of srs.Section) launch.Range {
	if j.plan.Streams {
		return j.hostAt[of]
	}
	at, _ := j.plan.Shape.Sections(j.block(sched.ParamSet).Addr)
	return at[of]
}

// windowSums is the result of an MSM, before its windows are joined.
type windowSums interface {
	ResultG1(data []byte) bls.G1Jac
	ResultG2(data []byte) bls.G2Jac
}

// result is room for an MSM's result, which will be added to the section's sum.
func (j *job) result(of srs.Section, m launch.MSM) launch.Range {
	return j.resultOf(of, m, m.ResultBytes(plan.GroupOf(of)))
}

func (j *job) resultOf(of srs.Section, m windowSums, bytes uint64) launch.Range {
	at, host := j.round.take(bytes)
	j.round.parts = append(j.round.parts, func(t *total) {
		if plan.GroupOf(of) == launch.G2 {
			p := m.ResultG2(host)
			t.addG2(&p)
		} else {
			p := m.ResultG1(host)
			t.addG1(of, &p)
		}
	})
	return at
}
