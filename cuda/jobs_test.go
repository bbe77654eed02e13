package cuda

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/cuda/driver"
	"github.com/libcuzk/libcuzk/cuda/internal/plan"
	"github.com/libcuzk/libcuzk/engine/backend"
	"github.com/libcuzk/libcuzk/engine/groth16"
	"github.com/libcuzk/libcuzk/engine/srs"
	"github.com/libcuzk/libcuzk/internal/circuits/synth"
	"github.com/libcuzk/libcuzk/internal/sched"
	"github.com/libcuzk/libcuzk/internal/vram"
	"github.com/libcuzk/libcuzk/tests/cudasim"
	"github.com/libcuzk/libcuzk/tests/golden"
)

// proven is a circuit with what its proof must be.
type proven struct {
	circuit *synth.Circuit
	params  *srs.Params
	want    groth16.Proof
}

func makeProven(t testing.TB, shape synth.Shape, seed uint64) proven {
	t.Helper()
	c, p := circuit(t, shape, seed)
	t.Cleanup(func() { assert.NoError(t, p.Release()) })
	r, s := c.Blinding()
	return proven{c, p, c.ExpectedProof(r, s)}
}

// sums runs Load and Prove.
func sums(ctx context.Context, d backend.Device, p proven) (*groth16.Sums, error) {
	if err := d.Load(ctx, p.params); err != nil {
		return nil, err
	}
	return d.Prove(ctx, &backend.Partition{
		Params: p.params, Assignment: p.circuit.Assignment(), RowsRead: func() {}, Stage: func(string, float64) {},
	})
}

func (p proven) check(t testing.TB, got *groth16.Sums) {
	t.Helper()
	r, s := p.circuit.Blinding()
	proof, err := groth16.Assemble(p.params.VerifyingKey(), got, &r, &s)
	if assert.NoError(t, err) {
		assert.Equal(t, p.want, *proof)
	}
}

// leastBudget is the budget in which the largest of some circuits just fits, in
// the tier that needs less.
func leastBudget(t testing.TB, of ...proven) uint64 {
	t.Helper()
	return leastBudgetFor(t, Options{}, of...)
}

func leastBudgetFor(t testing.TB, o Options, of ...proven) uint64 {
	t.Helper()
	var least uint64
	for _, p := range of {
		s := plan.ShapeOf(p.params.Counts())
		_, bytes := s.Sections(0)
		_, err := plan.New(s, vram.NewSet("", bytes), o.limits(), func(n vram.Need) error {
			peak := vram.Peak(n.Streaming, 0)
			if n.Streaming == nil {
				peak = vram.Peak(n.Resident, bytes)
			}
			return &vram.TooLargeError{NeedBytes: peak}
		})
		var tooLarge *vram.TooLargeError
		require.ErrorAs(t, err, &tooLarge)
		least = max(least, tooLarge.NeedBytes)
	}
	return fixedHere(t) + least
}

// TestWorkersWithinABudget proves circuits of several sizes and sets at the
// same time, with room for only one job of the largest and one set beside it:
// jobs wait for each other's blocks, and sets push each other out.
func TestWorkersWithinABudget(t *testing.T) {
	circuits := []proven{
		makeProven(t, synth.PoRepLike(2000, 9), 1),
		makeProven(t, synth.Dense(300, 3), 2),
		makeProven(t, synth.SHA256Like(1100, 2), 3),
	}
	for name, extra := range map[string]uint64{
		"exactly one job":   0,
		"a little more":     4 << 20,
		"room for them all": 1 << 30,
	} {
		t.Run(name, func(t *testing.T) {
			d, _ := open(t, Options{BudgetBytes: leastBudget(t, circuits...) + extra, chunkBytes: vram.Granule}, cudasim.Config{Seed: 3})
			const workers, jobs = 4, 16
			var group sync.WaitGroup
			for w := range workers {
				group.Go(func() {
					for i := range jobs / workers {
						p := circuits[(w+i)%len(circuits)]
						got, err := sums(t.Context(), d, p)
						if assert.NoError(t, err) {
							p.check(t, got)
						}
					}
				})
			}
			group.Wait()
			u := d.jobs.Stats()
			assert.LessOrEqual(t, u.Mapped, u.Budget)
			assert.EqualValues(t, 0, u.Outstanding)
		})
	}
}

// TestJobsOfManyLaunches runs jobs of which each takes all tokens, also in rounds
// of which only one may be under way.
func TestJobsOfManyLaunches(t *testing.T) {
	circuits := []proven{makeProven(t, synth.PoRepLike(2000, 9), 1), makeProven(t, synth.Dense(300, 3), 2)}
	d, _ := open(t, Options{ListScalars: 100}, cudasim.Config{Seed: 4})
	for _, p := range circuits {
		require.NoError(t, d.Load(t.Context(), p.params))
		tier := d.sets[p.params].Resident
		tier.Launches = plan.MaxLaunches
		require.Equal(t, plan.MaxEnqueued, tier.Tokens())
		require.Equal(t, 1, tier.RoundsAhead())
	}
	const workers, jobs = 3, 4
	var group sync.WaitGroup
	for w := range workers {
		group.Go(func() {
			for i := range jobs {
				p := circuits[(w+i)%len(circuits)]
				got, err := sums(t.Context(), d, p)
				if assert.NoError(t, err) {
					p.check(t, got)
				}
			}
		})
	}
	group.Wait()
	assert.Empty(t, d.enqueued)
}

func TestTooSmallABudget(t *testing.T) {
	p := makeProven(t, synth.PoRepLike(2000, 9), 1)
	least := leastBudget(t, p)
	t.Run("one granule less than a job needs", func(t *testing.T) {
		d, _ := open(t, Options{BudgetBytes: least - vram.Granule}, cudasim.Config{})
		err := d.Load(t.Context(), p.params)
		var tooLarge *vram.TooLargeError
		require.ErrorAs(t, err, &tooLarge)
		assert.Equal(t, least-fixedHere(t), tooLarge.NeedBytes)
		assert.Equal(t, tooLarge.NeedBytes-vram.Granule, tooLarge.BudgetBytes)
		assert.ErrorContains(t, err, fmt.Sprint(tooLarge.NeedBytes))
		assert.ErrorContains(t, err, p.params.Name())
		_, err = sums(t.Context(), d, p)
		require.ErrorAs(t, err, &tooLarge)
	})
	t.Run("less than the context takes", func(t *testing.T) {
		if !onCard() {
			cudasim.New(t, cudasim.Config{})
		}
		_, err := NewProvider(Options{BudgetBytes: 100 << 20}).Open(0)
		require.ErrorIs(t, err, ErrBudget)
		assert.ErrorContains(t, err, "104857600 bytes on gpu0")
	})
}

// TestCancelAnywhere cancels jobs at random moments while others run.
func TestCancelAnywhere(t *testing.T) {
	small, large := makeProven(t, synth.Dense(100, 3), 1), makeProven(t, synth.PoRepLike(1500, 9), 2)
	d, _ := open(t, Options{BudgetBytes: leastBudget(t, small, large) + 8<<20, chunkBytes: vram.Granule}, cudasim.Config{Seed: 5})
	var group sync.WaitGroup
	for w := range 4 {
		group.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(w), 1))
			for range 6 {
				cancelSoon(t, d, []proven{small, large}[rng.IntN(2)], rng)
			}
		})
	}
	group.Wait()
	got, err := sums(t.Context(), d, large)
	require.NoError(t, err, "cancelled jobs leave the device as it was")
	large.check(t, got)
}

// cancelSoon proves p, and cancels that within 0.4 s: at any stage, or too late.
func cancelSoon(t *testing.T, d *device, p proven, rng *rand.Rand) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rng.IntN(400))*time.Millisecond)
	defer cancel()
	got, err := sums(ctx, d, p)
	if err != nil {
		assert.ErrorIs(t, err, context.DeadlineExceeded)
	} else {
		p.check(t, got)
	}
}

// TestLostDevice breaks the context under a kernel: the job is retried after a
// reset if its rows may still be read or the caller still has them, and fails
// with advice if not. Either way the next one is proved.
func TestLostDevice(t *testing.T) {
	needsFaults(t)
	p := makeProven(t, synth.Dense(60, 3), 1)
	const illegalAddress = 700
	inKernel := cudasim.Fault{Call: cudasim.RunKernel, Nth: 20, Code: illegalAddress}
	for name, test := range map[string]struct {
		fault cudasim.Fault
		kept  bool // the caller still has the rows
		ok    bool
	}{
		"before the rows are read": {cudasim.Fault{Call: "cuMemCreate", Nth: 1, Code: illegalAddress, Sticky: true}, false, true},
		"in a kernel":              {inKernel, false, false},
		"in a kernel, rows kept":   {inKernel, true, true},
		"at a launch":              {cudasim.Fault{Call: "cuLaunchKernel", Nth: 30, Code: illegalAddress, Sticky: true}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			d, sim := open(t, Options{chunkBytes: vram.Granule}, cudasim.Config{Recovers: true})
			require.NoError(t, d.Load(t.Context(), p.params))
			sim.Fault(test.fault)
			var read atomic.Int64
			got, err := d.Prove(t.Context(), &backend.Partition{
				Params: p.params, Assignment: p.circuit.Assignment(), Stage: func(string, float64) {},
				RowsRead: func() { read.Add(1) }, RowsNeeded: func() bool { return test.kept && read.Add(-1) == 0 },
			})
			assert.EqualValues(t, 1, read.Load(), "rows are given back as often as they are taken")
			if test.ok {
				require.NoError(t, err)
				p.check(t, got)
			} else {
				require.ErrorIs(t, err, sched.ErrDeviceLost)
				assert.ErrorContains(t, err, d.card.String()+" has been reset, try again")
			}
			sim.ClearFaults()
			got, err = sums(t.Context(), d, p)
			require.NoError(t, err, "the card has been reset")
			p.check(t, got)
			assert.EqualValues(t, 1, d.jobs.Stats().Losses)
		})
	}
}

// TestDamagedParameters loads files whose points are not what they should be.
func TestDamagedParameters(t *testing.T) {
	c, err := golden.Named("two")
	require.NoError(t, err)
	intact, err := os.ReadFile(c.Params)
	require.NoError(t, err)
	open0, _ := open(t, Options{}, cudasim.Config{})
	// Offset of the first h point: the key, ic's count and its points, h's count.
	h := 864 + 4 + 96*c.Inputs + 4
	for name, test := range map[string]struct {
		damage func([]byte)
		want   error
		text   string
	}{
		"off the curve":        {func(b []byte) { b[h+96*3+95] ^= 1 }, srs.ErrNotOnCurve, "section h: point 3 is the first of 1"},
		"not canonical":        {func(b []byte) { copy(b[h:], []byte{0x1f, 0xff}) }, srs.ErrNotCanonical, "section h: point 0"},
		"compressed":           {func(b []byte) { b[h+96*30] |= 0x80 }, srs.ErrEncoding, "section h: point 30"},
		"infinity":             {func(b []byte) { clear(b[h+96 : h+192]); b[h+96] = 0x40 }, srs.ErrInfinity, "section h: point 1"},
		"the last of G2":       {func(b []byte) { b[len(b)-1] ^= 1 }, srs.ErrNotOnCurve, fmt.Sprintf("section b_g2: point %d", c.BInputs+c.BAux-1)},
		"two of them, one bad": {func(b []byte) { b[h+95] ^= 1; b[h+96*7] |= 0x20 }, srs.ErrEncoding, "first of 2"},
	} {
		t.Run(name, func(t *testing.T) {
			data := append([]byte(nil), intact...)
			test.damage(data)
			path := filepath.Join(t.TempDir(), "damaged.params")
			require.NoError(t, os.WriteFile(path, data, 0o600))
			p, err := srs.Open(path, srs.Options{})
			require.NoError(t, err)
			defer func() { assert.NoError(t, p.Release()) }()
			defer open0.Drop(p)
			for range 2 {
				err = open0.Load(t.Context(), p)
				require.ErrorIs(t, err, test.want)
				assert.ErrorContains(t, err, test.text)
				assert.ErrorContains(t, err, path)
				assert.Empty(t, open0.sets, "nobody knows a set that was refused")
				assert.Zero(t, open0.Stats().SetBytes, "nothing of it is left")
			}
		})
	}
}

// TestNothingIsLeft proves again and again and looks at what is held: device
// memory, descriptors, threads and the process's memory.
func TestNothingIsLeft(t *testing.T) {
	warmUp, proofs := 5, 40
	if onCard() {
		warmUp, proofs = 50, 1000
	}
	d, _ := open(t, Options{}, cudasim.Config{})
	p := makeProven(t, synth.Dense(40, 3), 1)
	prove := func(n int) {
		for range n {
			got, err := sums(t.Context(), d, p)
			require.NoError(t, err)
			p.check(t, got)
		}
	}
	prove(warmUp)
	before := holdings(t, d)
	prove(proofs)
	after := holdings(t, d)
	t.Logf("before %+v, after %d proofs %+v", before, proofs, after)
	assert.Equal(t, before.deviceFree, after.deviceFree, "free device memory")
	assert.Equal(t, before.descriptors, after.descriptors, "open descriptors")
	assert.InDelta(t, before.threads, after.threads, 16, "OS threads")
	// Go's heap and the caches of the driver breathe by less; what leaks by
	// proof would show many times.
	const slackKiB = 32 << 10
	assert.Less(t, after.residentKiB, before.residentKiB+slackKiB, "resident memory, KiB")
}

type held struct {
	deviceFree           uint64
	descriptors, threads int
	residentKiB          int
}

func holdings(t *testing.T, d *device) (h held) {
	t.Helper()
	debug.FreeOSMemory()
	require.NoError(t, d.current.Load().Watch.Do(func(b *driver.Bound) (err error) {
		h.deviceFree, _, err = b.MemInfo()
		return err
	}))
	entries, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	h.descriptors = len(entries)
	status, err := os.ReadFile("/proc/self/status")
	require.NoError(t, err)
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(line, ":")
		n, _ := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(value), " kB"))
		switch name {
		case "VmRSS":
			h.residentKiB = n
		case "Threads":
			h.threads = n
		}
	}
	return h
}

func TestClosedDevice(t *testing.T) {
	p := makeProven(t, synth.Dense(4, 1), 1)
	d, _ := open(t, Options{}, cudasim.Config{})
	require.NoError(t, d.Close())
	require.NoError(t, d.Close(), "closing twice is closing once")
	_, err := sums(t.Context(), d, p)
	assert.ErrorIs(t, err, backend.ErrClosed)
	assert.ErrorContains(t, err, fmt.Sprintf("gpu0 %s", d.card.Name))
	assert.True(t, errors.Is(d.Load(t.Context(), p.params), backend.ErrClosed))
}
