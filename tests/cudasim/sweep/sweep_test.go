//go:build linux && (amd64 || arm64)

// Package sweep makes every driver call of a proof fail, one after the other.
package sweep

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/cuda"
	"github.com/libcuzk/libcuzk/cuda/driver"
	"github.com/libcuzk/libcuzk/engine/backend"
	"github.com/libcuzk/libcuzk/engine/groth16"
	"github.com/libcuzk/libcuzk/engine/srs"
	"github.com/libcuzk/libcuzk/internal/circuits/gv"
	"github.com/libcuzk/libcuzk/tests/cudasim"
	"github.com/libcuzk/libcuzk/tests/golden"
)

// StepVariable set to n sweeps every n-th call of each case instead of the
// steps below: 1 for a nightly run.
const StepVariable = "CUZK_FAULT_STEP"

// patience is how long one attempt may take before it counts as hanging; a
// proof takes a fraction of a second.
const patience = 5 * time.Minute

// Budgets: roomy leaves a golden case's set on the device; what is not the
// context's and the fixed buffers' in tight holds a job, and no set beside it.
const (
	roomy = 1 << 30
	tight = (536 + 42 + 4 + 4) << 20
)

// partition is a golden case with its expected proof.
type partition struct {
	params *srs.Params
	file   *gv.File
	budget uint64
}

func read(t *testing.T, name string, budget uint64) partition {
	t.Helper()
	cases, err := golden.Small()
	require.NoError(t, err)
	for _, c := range cases {
		if c.Name != name {
			continue
		}
		params, err := srs.Open(c.Params, srs.Options{})
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, params.Release()) })
		file, err := gv.Read(c.Witnesses[0])
		require.NoError(t, err)
		return partition{params, file, budget}
	}
	t.Fatalf("no golden case %q", name)
	return partition{}
}

// prove is one proof on an opened device, checked against the expected one.
func (p partition) prove(d backend.Device) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := d.Load(ctx, p.params); err != nil {
		return fmt.Errorf("load: %w", err)
	}
	read := 0
	sums, err := d.Prove(ctx, &backend.Partition{
		Params: p.params, Assignment: &p.file.Assignment,
		RowsRead: func() { read++ },
		Stage:    func(string, float64) {},
	})
	if read != 1 {
		return fmt.Errorf("%w: RowsRead was called %d times (Prove returned %w)", errWrong, read, err)
	}
	if err != nil {
		return fmt.Errorf("prove: %w", err)
	}
	proof, err := groth16.Assemble(p.params.VerifyingKey(), sums, &p.file.R, &p.file.S)
	if err == nil && *proof != *p.file.Proof {
		err = fmt.Errorf("%w: the proof differs from the expected one", errWrong)
	}
	return err
}

// tooMany faults with a wrong outcome end a sweep.
const tooMany = 20

// errWrong marks what no fault excuses.
var errWrong = errors.New("wrong result")

// attempt opens a device, proves with faults striking, proves again without them, and closes it.
func (p partition) attempt(t *testing.T, sim *cudasim.Sim, fault cudasim.Fault) (failed error) {
	t.Helper()
	d, err := cuda.NewProvider(cuda.Options{BudgetBytes: p.budget}).Open(0)
	if err != nil {
		return fmt.Errorf("open: %w", err)
	}
	failed = p.prove(d)
	sim.ClearFaults()
	sim.Seize(0, -fault.SeizeBytes*int64(len(sim.Report().Struck))) // the neighbour goes
	again := p.prove(d)
	if again != nil && failed != nil {
		// One failed job may be what it takes to find a broken device.
		again = p.prove(d)
	}
	require.NoError(t, again, "the proof after the fault (which gave: %v)", failed)
	streamed := d.(backend.Reporter).Stats().Streamed
	assert.Equal(t, p.budget == tight, streamed > 0, "%d proofs were streamed", streamed)
	d.Drop(p.params)
	return errors.Join(failed, wrap("close", d.Close()))
}

// attemptForGood is attempt with a driver that never works again: what is left
// then is the driver's, but every call must return, and say why.
func (p partition) attemptForGood(_ *testing.T, sim *cudasim.Sim, _ cudasim.Fault) error {
	sim.AllowLeftOver()
	d, err := cuda.NewProvider(cuda.Options{BudgetBytes: p.budget}).Open(0)
	if err != nil {
		return fmt.Errorf("open: %w", err)
	}
	first := p.prove(d)
	d.Drop(p.params)
	return errors.Join(first, wrap("again", p.prove(d)), wrap("close", d.Close()))
}

// attemptGone is attempt with a driver that makes no context after a broken
// one: a job that finds it broken says so, later ones ask the driver no more,
// and closing gives everything back.
func (p partition) attemptGone(t *testing.T, sim *cudasim.Sim, _ cudasim.Fault) error {
	t.Helper()
	d, err := cuda.NewProvider(cuda.Options{BudgetBytes: p.budget}).Open(0)
	if err != nil {
		return fmt.Errorf("open: %w", err)
	}
	var failed error
	const attempts = 3 // one failed job may be what it takes to find a broken device
	for range attempts {
		err := p.prove(d)
		failed = errors.Join(failed, err)
		var gone *backend.GoneError
		if !errors.As(err, &gone) {
			continue
		}
		require.ErrorContains(t, err, "restart the process")
		asked := sim.Report().Calls["cuCtxCreate"]
		require.ErrorAs(t, p.prove(d), &gone)
		require.Equal(t, asked, sim.Report().Calls["cuCtxCreate"], "contexts asked for")
		break
	}
	d.Drop(p.params)
	return errors.Join(failed, wrap("close", d.Close()))
}

func wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

// clear reports whether err says which call failed and how.
func clear(err error, code driver.Result) bool {
	return err == nil || (driver.Is(err, code) && !errors.Is(err, errWrong) && !errors.Is(err, context.DeadlineExceeded))
}

// hasKind reports whether err is of a kind that callers know.
func hasKind(err error) bool {
	return errors.Is(err, backend.ErrDevice) || errors.Is(err, backend.ErrDeviceLost) ||
		errors.Is(err, backend.ErrDeviceMemory) || errors.Is(err, backend.ErrHostMemory)
}

func TestEveryCallFails(t *testing.T) {
	// Opening the driver happens once a process, so it comes before the faults.
	cudasim.New(t, cudasim.Config{})
	_, err := driver.Open()
	require.NoError(t, err)
	for name, test := range map[string]struct {
		golden string
		budget uint64
		step   uint64
		fault  cudasim.Fault
		gone   bool // the driver makes no context after a broken one
	}{
		"out of memory, golden one":           {"one", roomy, 1, cudasim.Fault{Code: 2}, false},
		"the device is lost, golden one":      {"one", roomy, 3, cudasim.Fault{Code: 719, Sticky: true}, false},
		"an unknown error, golden one":        {"one", roomy, 3, cudasim.Fault{Code: 999}, false},
		"for good from a call on, golden one": {"one", roomy, 7, cudasim.Fault{Code: 999, FromThenOn: true}, false},
		"a kernel fails as it runs":           {"one", roomy, 1, cudasim.Fault{Call: cudasim.RunKernel, Code: 700}, false},
		"a copy fails as it runs":             {"one", roomy, 1, cudasim.Fault{Call: cudasim.RunCopy, Code: 214}, false},
		"a neighbour takes what is free":      {"one", roomy, 1, cudasim.Fault{Call: "cuMemCreate", SeizeBytes: 1 << 40, Code: 2}, false},
		"out of memory, golden two":           {"two", roomy, 50, cudasim.Fault{Code: 2}, false},
		"the device is lost, golden two":      {"two", roomy, 50, cudasim.Fault{Code: 719, Sticky: true}, false},
		"out of memory, streamed":             {"one", tight, 3, cudasim.Fault{Code: 2}, false},
		"the device is lost, streamed":        {"one", tight, 7, cudasim.Fault{Code: 719, Sticky: true}, false},
		"an unknown error, streamed":          {"one", tight, 7, cudasim.Fault{Code: 999}, false},
		"for good from a call on, streamed":   {"one", tight, 11, cudasim.Fault{Code: 999, FromThenOn: true}, false},
		"a kernel fails as it runs, streamed": {"one", tight, 3, cudasim.Fault{Call: cudasim.RunKernel, Code: 700}, false},
		"a copy fails as it runs, streamed":   {"one", tight, 1, cudasim.Fault{Call: cudasim.RunCopy, Code: 214}, false},
		"pinning fails, streamed":             {"two", tight, 1, cudasim.Fault{Call: "cuMemHostRegister", Code: 2}, false},
		"out of memory, two streamed":         {"two", tight, 61, cudasim.Fault{Code: 2}, false},
		"the device is gone, golden one":      {"one", roomy, 5, cudasim.Fault{Code: 719, Sticky: true}, true},
		"the device is gone, streamed":        {"one", tight, 11, cudasim.Fault{Code: 719, Sticky: true}, true},
		"gone by a kernel, streamed":          {"one", tight, 7, cudasim.Fault{Call: cudasim.RunKernel, Code: 700}, true},
	} {
		t.Run(name, func(t *testing.T) {
			step := test.step
			if testing.Short() {
				step *= 10
			}
			if text := os.Getenv(StepVariable); text != "" {
				n, err := strconv.ParseUint(text, 10, 32)
				require.NoError(t, err, StepVariable)
				require.Positive(t, n, StepVariable)
				step = n
			}
			p := read(t, test.golden, test.budget)
			struck, failures, wrong := 0, 0, 0
			for nth := uint64(1); wrong < tooMany; nth += step {
				fault := test.fault
				fault.Nth = nth
				if fault.Call == "" {
					fault.Call = cudasim.AnyCall
				}
				reached := true
				ok := t.Run(fmt.Sprintf("call %d", nth), func(t *testing.T) {
					sim := cudasim.New(t, cudasim.Config{Recovers: !test.gone})
					sim.Fault(fault)
					attempt := p.attempt
					switch {
					case fault.FromThenOn:
						attempt = p.attemptForGood
					case test.gone:
						attempt = p.attemptGone
					}
					err := attempt(t, sim, fault)
					calls := sim.Report().Struck
					if reached = len(calls) > 0; !reached {
						require.NoError(t, err)
						return
					}
					t.Logf("%s failed, which gave: %v", calls[0], err)
					if err != nil {
						failures++
					}
					assert.True(t, clear(err, driver.Result(fault.Code)), "the error names the call and its code")
					assert.True(t, err == nil || hasKind(err), "the error is of a kind")
				})
				if !reached {
					break
				}
				struck++
				if !ok {
					wrong++
				}
			}
			t.Logf("%d calls struck, %d of them failed the job, the others were made good", struck, failures)
			assert.Positive(t, struck)
		})
	}
}
