//go:build linux && (amd64 || arm64)

package jobs

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/cuda"
	"github.com/libcuzk/libcuzk/cuda/driver"
	"github.com/libcuzk/libcuzk/engine"
	"github.com/libcuzk/libcuzk/tests/cudasim"
	"github.com/libcuzk/libcuzk/tests/golden"
)

// randomFault strikes somewhere in the first proofs.
func randomFault(random *rand.Rand) cudasim.Fault {
	switch random.IntN(5) {
	case 0:
		return cudasim.Fault{Call: cudasim.RunKernel, Nth: 1 + random.Uint64N(400), Code: 700}
	case 1:
		return cudasim.Fault{Call: cudasim.RunCopy, Nth: 1 + random.Uint64N(100), Code: 214}
	case 2:
		return cudasim.Fault{Call: cudasim.AnyCall, Nth: 150 + random.Uint64N(3000), Code: 719, Sticky: true}
	case 3:
		return cudasim.Fault{Call: cudasim.AnyCall, Nth: 150 + random.Uint64N(3000), Code: 999}
	}
	if random.IntN(2) == 0 {
		return cudasim.Fault{Call: "cuMemHostRegister", Nth: 1 + random.Uint64N(12), Code: 719, Sticky: true}
	}
	return cudasim.Fault{Call: "cuMemCreate", Nth: 1 + random.Uint64N(4), Code: 2}
}

// attempt proves a batch: right proofs, or an error that tells of the fault.
func attempt(t *testing.T, e *engine.Engine, k known, fault cudasim.Fault) (failed bool) {
	ctx, stop := context.WithTimeout(context.Background(), patience)
	defer stop()
	job, err := e.Start(ctx, k.set, k.parts, engine.DefaultProveOptions())
	var proofs []engine.Proof
	if err == nil {
		proofs, err = job.Wait(ctx)
		<-job.Done()
	}
	if err != nil {
		assert.NotErrorIs(t, err, context.DeadlineExceeded, "a job hangs")
		assert.NotErrorIs(t, err, engine.ErrUnsatisfied, "a wrong proof was formed")
		var call *driver.Error
		assert.True(t, errors.As(err, &call), "the error names the call that failed: %v", err)
		return true
	}
	assert.Equal(t, k.want, proofs, "after %+v", fault)
	return false
}

func TestJobsThroughFaults(t *testing.T) {
	for seed := range uint64(2 * seeds(t)) {
		t.Run("seed "+strconv.FormatUint(seed+1, 10), func(t *testing.T) {
			// Half of the drivers make no context after a broken one: then the other device goes on.
			recovers := seed/2%2 == 0
			sim := cudasim.New(t, cudasim.Config{Devices: 2, Seed: seed + 1, Declared: true, Recovers: recovers})
			budget := uint64(1 << 30)
			if seed%2 == 1 { // sets are streamed
				budget = (fixedMiB + 6) << 20
			}
			e := newEngine(t, cuda.Options{BudgetBytes: budget}, 3)
			var cases []known
			for _, name := range []string{"one", "two", "zero"} {
				c, err := golden.Named(name)
				require.NoError(t, err)
				cases = append(cases, load(t, e, c))
			}
			random := rand.New(rand.NewPCG(seed, 1))
			fault := randomFault(random)
			sim.Fault(fault)
			var all sync.WaitGroup
			var failures sync.Map
			for caller := range 4 {
				all.Go(func() {
					for round := range 3 {
						if attempt(t, e, cases[(caller+round)%len(cases)], fault) {
							failures.Store([2]int{caller, round}, true)
						}
					}
				})
			}
			all.Wait()
			sim.ClearFaults()
			n := 0
			failures.Range(func(any, any) bool { n++; return true })
			t.Logf("%+v struck %v: %d of 12 batches failed", fault, sim.Report().Struck, n)
			// One batch may be what it takes to find a broken device.
			for range 2 {
				for _, k := range cases {
					attempt(t, e, k, fault)
				}
			}
			for range 2 {
				for _, k := range cases {
					assert.False(t, attempt(t, e, k, fault), "the fault is over")
				}
			}
		})
	}
}
