package cpu

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	bls "github.com/consensys/gnark-crypto/ecc/bls12-381"

	"github.com/libcuzk/libcuzk/engine/backend"
	"github.com/libcuzk/libcuzk/engine/cpu/internal/msm"
	"github.com/libcuzk/libcuzk/engine/cpu/internal/ntt"
	"github.com/libcuzk/libcuzk/engine/groth16"
	"github.com/libcuzk/libcuzk/engine/srs"
	"github.com/libcuzk/libcuzk/internal/hostmem"
	"github.com/libcuzk/libcuzk/internal/par"
)

// Prove implements backend.Device.
func (d *Device) Prove(ctx context.Context, p *backend.Partition) (*groth16.Sums, error) {
	done, err := d.begin(p.Params)
	if err != nil {
		return nil, err
	}
	defer done()
	points, err := p.Params.Points(ctx)
	if err != nil {
		return nil, fmt.Errorf("cpu: points: %w", err)
	}

	h, err := hostmem.Get[msm.Scalar](&d.pool, groth16.Domain(len(p.Assignment.A)))
	if err != nil {
		return nil, fmt.Errorf("cpu: coefficients of h: %w", err)
	}
	defer h.Release()
	if err := timed(p, backend.StageQuotient, func() error { return d.quotient(ctx, p, h.Data) }); err != nil {
		return nil, err
	}

	var w *witness
	if err := timed(p, backend.StageClassify, func() (err error) {
		w, err = classify(ctx, &d.pool, d.workers, p.Assignment)
		return err
	}); err != nil {
		return nil, err
	}
	defer w.release()

	var sums *groth16.Sums
	err = timed(p, backend.StageSums, func() (err error) {
		sums, err = d.sums(ctx, points, h.Data, w)
		return err
	})
	return sums, err
}

func timed(p *backend.Partition, stage string, do func() error) error {
	start := time.Now()
	err := do()
	p.Stage(stage, time.Since(start).Seconds())
	return err
}

func (d *Device) quotient(ctx context.Context, p *backend.Partition, h []msm.Scalar) error {
	plan, done, err := d.plan(p.Params, len(h))
	if err != nil {
		return err
	}
	defer done()
	err = plan.Quotient(ctx, d.workers, p.Assignment.A, p.Assignment.B, p.RowsRead, h)
	var bad *ntt.RangeError
	if errors.As(err, &bad) {
		return fmt.Errorf("cpu: %w: %s[%d]", groth16.ErrScalarRange, bad.Vector, bad.Index)
	}
	return err
}

// sums computes the five sums. All units are in one list, so that no core
// waits for another before the last few.
func (d *Device) sums(ctx context.Context, points *srs.Points, h []msm.Scalar, w *witness) (*groth16.Sums, error) {
	sums := new(groth16.Sums)
	var units []msm.Unit
	var totals []func()
	add := func(more []msm.Unit, total func()) {
		units = append(units, more...)
		totals = append(totals, total)
	}
	quotient := section{}
	g1, g2 := d.g1(d.workers), d.g2(d.workers)
	add(g1(points.H, h, quotient, len(points.H), &sums.H))
	add(g1(points.L, w.scalars, w.l, len(w.l.at), &sums.L))
	add(g1(points.A, w.scalars, w.a, len(w.a.at), &sums.A))
	add(g1(points.BG1, w.scalars, w.b, len(w.b.at), &sums.B1))
	add(g2(points.BG2, w.scalars, w.b, len(w.b.at), &sums.B2))

	slices.SortStableFunc(units, func(a, b msm.Unit) int { return cmp.Compare(b.Cost, a.Cost) })
	if err := par.For(ctx, d.workers, len(units), func(i int) error { return units[i].Do(ctx) }); err != nil {
		return nil, err
	}
	err := par.For(ctx, d.workers, len(totals), func(i int) error {
		totals[i]()
		return nil
	})
	return sums, err
}

// summer prepares the sum of one section: units to do, and then total sets out.
type summer[A, J any] func(points []A, scalars []msm.Scalar, s section, dense int, out *J) (units []msm.Unit, total func())

// newSummer returns a summer for a group. factor is what an addition costs
// beside one in G1.
func newSummer[A, P, J any, PJ msm.Jacobian[A, J]](g *msm.Group[A, P, J], workers, factor int) summer[A, J] {
	return func(points []A, scalars []msm.Scalar, s section, dense int, out *J) ([]msm.Unit, func()) {
		sum, units := msm.NewSum[A, P, J, PJ](g,
			msm.Dense[A]{Points: points, At: s.at, Scalars: scalars, ScalarAt: s.scalarAt, Len: dense},
			msm.Ones[A]{Points: points, At: s.ones}, workers)
		for i := range units {
			units[i].Cost *= factor
		}
		return units, func() { *out = sum.Total() }
	}
}

type (
	summerG1 = summer[bls.G1Affine, bls.G1Jac]
	summerG2 = summer[bls.G2Affine, bls.G2Jac]
)
