package gpu

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/cuda"
	"github.com/libcuzk/libcuzk/cuda/driver"
	"github.com/libcuzk/libcuzk/engine"
	"github.com/libcuzk/libcuzk/engine/backend"
	"github.com/libcuzk/libcuzk/internal/circuits/synth"
	"github.com/libcuzk/libcuzk/internal/sched"
	"github.com/libcuzk/libcuzk/tests/cudasim"
)

// contextSlackMiB is how much two contexts that do the same may differ; what a
// lost one leaves behind would be some chunks of 256 MiB.
const contextSlackMiB = 64

// faultVariable names the fault that a process of its own strikes with.
const faultVariable = "CUZK_TEST_FAULT"

// restartAdvice is in every error of a card that is gone.
const restartAdvice = "restart the process"

// losing runs a test that breaks contexts. A driver may make no other context
// in that process, or make one: both are right, and the test checks what it
// meets. On a card it runs in a process of its own for each fault, so that it
// spoils no other test; on the simulator once so, and with each kind of driver,
// which may differ in how it answers virtual memory calls beside a broken context too.
func losing(t *testing.T, kinds []fault, test func(*testing.T, fault, cudasim.Config)) {
	t.Helper()
	if own := os.Getenv(faultVariable); own != "" {
		i := slices.IndexFunc(faults, func(f fault) bool { return f.name == own })
		require.GreaterOrEqual(t, i, 0, "%s=%s", faultVariable, own)
		test(t, faults[i], cudasim.Config{})
		return
	}
	for i, f := range kinds {
		if onCard() || i == 0 {
			t.Run(f.name+", in a process of its own", func(t *testing.T) { runAlone(t, f) })
		}
		if onCard() {
			continue
		}
		ways := []int{0, 1, 2} // of answering virtual memory calls
		if i > 0 {
			ways = ways[:1]
		}
		for _, recovers := range []bool{false, true} {
			for _, virtual := range ways {
				t.Run(fmt.Sprintf("%s, recovers: %t, virtual memory calls, way %d", f.name, recovers, virtual), func(t *testing.T) {
					test(t, f, cudasim.Config{Recovers: recovers, BrokenVirtual: virtual})
				})
			}
		}
	}
}

// runAlone is the test t in a process of its own.
func runAlone(t *testing.T, f fault) {
	t.Helper()
	name, _, _ := strings.Cut(t.Name(), "/")
	child := exec.Command(os.Args[0], "-test.run", "^"+name+"$", "-test.v", "-test.timeout", neverThatLong.String())
	child.Env = append(os.Environ(), faultVariable+"="+f.name)
	out, err := child.CombinedOutput()
	t.Logf("%s", out)
	require.NoError(t, err)
	require.Contains(t, string(out), outcomeText, "the process has run the test")
}

// outcomeText begins what outcome logs.
const outcomeText = "the outcome is: "

// outcome tells what the driver has made of a fault: whether the card is gone.
func (r *rig) outcome(f fault) (gone bool) {
	r.t.Helper()
	reason := r.Devices()[0].Unusable
	if gone = reason != ""; gone {
		r.t.Logf("%s: %sthe driver makes no context in this process any more: %s", f.name, outcomeText, reason)
	} else {
		r.t.Logf("%s: %srecovered", f.name, outcomeText)
	}
	return gone
}

// requireGone checks an error of a card that is gone.
func requireGone(t *testing.T, err error) {
	t.Helper()
	var gone *backend.GoneError
	require.ErrorAs(t, err, &gone)
	require.ErrorIs(t, err, sched.ErrDeviceLost)
	require.ErrorContains(t, err, restartAdvice)
}

// lasts reports whether the simulator's driver makes no context after f: an
// assertion is the only one after which it does.
func lasts(f fault, c cudasim.Config) bool { return !c.Recovers && f.name != "assertion" }

// TestLostCard breaks the engine's context under three workers: one with a job
// whose caller has its rows back, two with jobs that block their callers.
func TestLostCard(t *testing.T) {
	losing(t, faults, func(t *testing.T, f fault, c cudasim.Config) {
		r := openFalling(t, cuda.Options{}, c, engine.FallbackCPU)
		circuit := r.circuitOfCPU(synth.PoRepLike(pick(1<<14, 40), 5), 1)
		defer circuit.free()
		p := circuit.partition(0)
		require.Equal(t, circuit.ExpectedProof(p.R, p.S), r.prove(circuit.srs, p, engine.AnyDevice))
		gone := r.loseCard(circuit, f)
		if r.sim != nil {
			require.Equal(t, lasts(f, c), gone)
		}
		if gone {
			r.checkGone(circuit)
			return
		}
		before := r.held() // what is made once is there now
		const times = 2
		for range times {
			require.False(t, r.loseCard(circuit, f), "it has recovered before")
		}
		after := r.held()
		t.Logf("before %+v, after %+v", before, after)
		after.check(t, before, contextSlackMiB)
	})
}

// loseCard breaks the card once and checks what becomes of its jobs.
func (r *rig) loseCard(c *circuit, f fault) (gone bool) {
	r.t.Helper()
	before := r.Metrics().Devices
	kept := c.partition(1)
	a := *kept.Assignment
	a.A = append(a.A[:0:0], a.A...) // rows by which its partition is known
	kept.Assignment = &a
	read, release := make(chan struct{}), make(chan struct{})
	var once atomic.Bool
	hook := func(partition *backend.Partition) {
		if unsafe.SliceData(partition.Assignment.A) == unsafe.SliceData(a.A) && once.CompareAndSwap(false, true) {
			close(read)
			<-release
		}
	}
	r.gpu.rowsRead.Store(&hook)
	defer r.gpu.rowsRead.Store(nil)

	started, err := r.Start(r.t.Context(), c.srs, []engine.Partition{kept}, engine.DefaultProveOptions())
	require.NoError(r.t, err)
	<-read
	require.NoError(r.t, started.WaitRows(r.t.Context()))
	const blocking = 2
	var calls sync.WaitGroup
	for i := range blocking {
		calls.Go(func() {
			p := c.partition(uint64(10 + i))
			proof, err := r.Prove(r.t.Context(), c.srs, p, engine.DefaultProveOptions())
			if assert.NoError(r.t, err, "a blocking job is run again") {
				assert.Equal(r.t, c.ExpectedProof(p.R, p.S), proof)
			}
		})
	}
	// A job that comes to the card only after its reset would need no retry.
	const claim = "claim"
	require.Eventually(r.t, func() bool {
		return r.Metrics().Devices[0].Stages[claim].Count == before[0].Stages[claim].Count+1+blocking
	}, time.Minute, time.Millisecond)
	struck := r.strike(f)
	close(release)
	require.True(r.t, driver.Sticky(struck), "%s: %v", f.name, struck)
	_, err = started.Wait(r.t.Context())
	require.ErrorIs(r.t, err, sched.ErrDeviceLost, "%s: a job whose rows are gone is not run again", f.name)
	calls.Wait()
	r.t.Logf("%s: the driver says: %v", f.name, struck)
	r.t.Logf("%s: the job says: %v", f.name, err)

	proofs := 0
	for step := range uint64(3) {
		p := c.partition(20 + step)
		require.Equal(r.t, c.ExpectedProof(p.R, p.S), r.prove(c.srs, p, engine.AnyDevice), "%s: proofs afterwards", f.name)
		proofs++
	}
	gone = r.outcome(f)
	now := r.Metrics().Devices
	done := func(device int) uint64 {
		return now[device].Outcomes[engine.OutcomeDone] - before[device].Outcomes[engine.OutcomeDone]
	}
	assert.EqualValues(r.t, 1, now[0].Resets-before[0].Resets, "%s: losses", f.name)
	if gone {
		requireGone(r.t, err)
		assert.Zero(r.t, now[0].Retries-before[0].Retries, "%s: retries", f.name)
		assert.EqualValues(r.t, blocking, now[0].Moved-before[0].Moved, "%s: moved to the CPU", f.name)
		assert.EqualValues(r.t, blocking+proofs, done(r.cpu), "%s: proofs of the CPU", f.name)
		return gone
	}
	require.ErrorContains(r.t, err, "try again")
	assert.EqualValues(r.t, blocking, now[0].Retries-before[0].Retries, "%s: retries", f.name)
	assert.EqualValues(r.t, blocking+proofs, done(0), "%s: proofs of the card", f.name)
	assert.Equal(r.t, before[0].FixedBytes, now[0].FixedBytes, "%s: memory that stays with a lost context", f.name)
	return gone
}

// checkGone checks what an engine says whose card is gone, and another one.
func (r *rig) checkGone(c *circuit) {
	t := r.t
	t.Helper()
	info, now := r.Devices()[0], r.Metrics().Devices[0]
	for _, text := range []string{info.Unusable, now.Unusable, r.GPUReason()} {
		assert.Contains(t, text, restartAdvice)
	}
	assert.Zero(t, now.MappedBytes+now.JobBytes+now.FencedBytes+now.SetBytes+now.PinnedBytes+now.HostSetBytes, "%+v", now.Stats)
	named := engine.DefaultProveOptions()
	named.Device = 0
	_, err := r.Prove(t.Context(), c.srs, c.partition(0), named)
	requireGone(t, err)

	// Without the CPU as fallback another engine of this process fails with the same reason.
	other := &rig{t: t, sim: r.sim}
	other.start(cuda.Options{})
	_, err = other.addCircuit(synth.PoRepLike(20, 2), 1)
	requireGone(t, err)
	require.NoError(t, other.Close())
	other.closed = true
}

// A context that breaks while nothing runs: the next job finds out and is run
// again, there or on the CPU, or the engine is closed and gives everything back.
func TestCardLostWhileIdle(t *testing.T) {
	losing(t, faults[:1], func(t *testing.T, f fault, c cudasim.Config) {
		r := openFalling(t, cuda.Options{}, c, engine.FallbackCPU)
		circuit := r.circuitOfCPU(synth.PoRepLike(pick(1<<14, 40), 5), 1)
		p := circuit.partition(0)
		prove := func() {
			require.Equal(t, circuit.ExpectedProof(p.R, p.S), r.prove(circuit.srs, p, engine.AnyDevice))
		}
		prove()
		before := r.held()
		require.Error(t, r.strike(f))
		prove()
		assert.EqualValues(t, 1, r.Metrics().Devices[0].Resets)
		gone := r.outcome(f)
		if r.sim != nil {
			require.Equal(t, lasts(f, c), gone)
		}
		if gone {
			assert.Less(t, r.vramMiB(), before.vramMiB, "what is given back while the engine lives")
		} else {
			r.held().check(t, before, contextSlackMiB)
			require.Error(t, r.strike(f))
		}
		circuit.free()
		require.NoError(t, r.Close())
		r.closed = true
		assert.Less(t, r.vramMiB(), before.vramMiB)
		if r.sim != nil {
			assert.Zero(t, r.vramMiB())
		}
	})
}

// The card is lost for good, nobody has found out, and the engine is closed.
func TestCardGoneBeforeTheEngineIsClosed(t *testing.T) {
	losing(t, faults[:1], func(t *testing.T, f fault, c cudasim.Config) {
		r := openWith(t, cuda.Options{}, c)
		circuit := r.circuitOfCPU(synth.PoRepLike(40, 5), 1)
		r.prove(circuit.srs, circuit.partition(0), engine.AnyDevice)
		before := r.vramMiB()
		require.Error(t, r.strike(f))
		circuit.free()
		require.NoError(t, r.Close())
		r.closed = true
		assert.Less(t, r.vramMiB(), before)
		t.Logf("%s: %sclosed", f.name, outcomeText)
	})
}

// proveTogether proves n partitions at once, wherever the engine puts them.
func (r *rig) proveTogether(c *circuit, n int) {
	r.t.Helper()
	var calls sync.WaitGroup
	for i := range n {
		calls.Go(func() {
			p := c.partition(uint64(i))
			proof, err := r.Prove(r.t.Context(), c.srs, p, engine.DefaultProveOptions())
			if assert.NoError(r.t, err) {
				assert.Equal(r.t, c.ExpectedProof(p.R, p.S), proof)
			}
		})
	}
	calls.Wait()
}

// Of two cards one is gone: the other one takes its jobs, but those that name
// the first.
func TestOneOfTwoCardsIsGone(t *testing.T) {
	if onCard() {
		t.Skip("two cards are simulated")
	}
	for name, test := range map[string]struct {
		fallback engine.Fallback
		moved    uint64 // of the job that finds out
	}{
		"to the other":                {engine.FallbackGPU, 1},
		"to the other before the CPU": {engine.FallbackCPU, 1},
		"no fallback":                 {engine.FallbackNone, 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := openFalling(t, cuda.Options{}, cudasim.Config{Devices: 2}, test.fallback)
			c := r.circuitOfCPU(synth.PoRepLike(40, 5), 1)
			defer c.free()
			const illegalAddress, jobs = 700, 3
			r.sim.Fault(cudasim.Fault{Call: "cuLaunchKernel", Nth: 1, Code: illegalAddress, Sticky: true})
			_, err := r.Prove(t.Context(), c.srs, c.partition(1), engine.DefaultProveOptions())
			if test.moved == 0 {
				requireGone(t, err)
			} else {
				require.NoError(t, err)
			}
			require.Contains(t, r.Devices()[0].Unusable, restartAdvice)
			require.Empty(t, r.GPUReason(), "a GPU is used")
			r.proveTogether(c, jobs)
			m := r.Metrics().Devices
			assert.Equal(t, test.moved, m[0].Moved)
			assert.GreaterOrEqual(t, m[1].Outcomes[engine.OutcomeDone], uint64(jobs))
			assert.Zero(t, m[r.cpu].Outcomes[engine.OutcomeDone])
			assert.Zero(t, m[0].SetBytes+m[0].MappedBytes)
			assert.NotZero(t, m[1].SetBytes)
			named := engine.DefaultProveOptions()
			named.Device = 0
			_, err = r.Prove(t.Context(), c.srs, c.partition(0), named)
			requireGone(t, err)
			assert.EqualValues(t, 3, r.sim.Report().Calls["cuCtxCreate"], "one a card, and one after the loss")
		})
	}
}

// A kernel breaks the context of one of two cards. Whether the driver still
// works with the other one or not, every job is done: there, or on the CPU.
func TestOneOfTwoCardsBreaks(t *testing.T) {
	if onCard() {
		cards, err := cuda.NewProvider(cuda.Options{}).Devices()
		require.NoError(t, err)
		if len(cards) < 2 {
			t.Skip("needs two cards")
		}
	}
	losing(t, faults[:1], func(t *testing.T, f fault, c cudasim.Config) {
		c.Devices = 2
		r := openFalling(t, cuda.Options{}, c, engine.FallbackCPU)
		circuit := r.circuitOfCPU(synth.PoRepLike(pick(1<<14, 40), 5), 1)
		defer circuit.free()
		const first, second, jobs = 0, 1, 6
		for card := range 2 {
			r.prove(circuit.srs, circuit.partition(0), card)
		}
		require.Error(t, r.strike(f))
		r.proveTogether(circuit, jobs)
		r.outcome(f)
		reason := r.Devices()[second].Unusable
		t.Logf("%s: the other card: %q", f.name, reason)
		named := engine.DefaultProveOptions()
		named.Device = second
		_, err := r.Prove(t.Context(), circuit.srs, circuit.partition(0), named)
		if reason == "" {
			require.NoError(t, err)
		} else {
			requireGone(t, err)
		}
		m := r.Metrics().Devices
		assert.NotZero(t, m[first].Resets)
		var done uint64
		for _, d := range m {
			done += d.Outcomes[engine.OutcomeDone]
		}
		assert.GreaterOrEqual(t, done, uint64(2+jobs))
	})
}

// A driver that does not take the memory of a lost context back, or makes no
// new one, for a while.
func TestLostCardWhoseDriverRefuses(t *testing.T) {
	if onCard() {
		t.Skip("a card's driver refuses nothing on demand")
	}
	const refused = 999
	lose := func(t *testing.T, call string, want error) (r *rig, c *circuit) {
		r = openWith(t, cuda.Options{}, cudasim.Config{Recovers: true})
		c = r.circuitOfCPU(synth.PoRepLike(40, 5), 1)
		t.Cleanup(c.free)
		p := c.partition(0)
		r.prove(c.srs, p, engine.AnyDevice)
		require.Error(t, r.strike(faults[0]))
		r.sim.Fault(cudasim.Fault{Call: call, Nth: 1, FromThenOn: true, Code: refused})
		proof, err := r.Prove(t.Context(), c.srs, p, engine.DefaultProveOptions())
		require.ErrorIs(t, err, want)
		if err == nil {
			require.Equal(t, c.ExpectedProof(p.R, p.S), proof)
		}
		return r, c
	}
	for _, call := range []string{"cuMemUnmap", "cuMemRelease", "cuMemAddressFree"} {
		t.Run(call, func(t *testing.T) {
			r, _ := lose(t, call, nil)
			m := r.Metrics().Devices[0]
			if call != "cuMemAddressFree" {
				assert.GreaterOrEqual(t, m.FixedBytes, uint64(522<<20)+m.MappedBytes, "what is not taken back is counted")
			}
			r.sim.ClearFaults()
			require.NoError(t, r.Close())
			r.closed = true
			assert.Zero(t, r.vramMiB(), "it is taken back at the end")
		})
	}
	t.Run("cuCtxCreate", func(t *testing.T) {
		r, c := lose(t, "cuCtxCreate", sched.ErrDeviceLost)
		r.sim.ClearFaults()
		p := c.partition(1)
		require.Equal(t, c.ExpectedProof(p.R, p.S), r.prove(c.srs, p, engine.AnyDevice), "once the driver makes one")
		assert.EqualValues(t, 1, r.Metrics().Devices[0].Resets)
	})
}
