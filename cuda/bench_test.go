package cuda

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/cuda/driver"
	"github.com/libcuzk/libcuzk/cuda/internal/devcontext"
	"github.com/libcuzk/libcuzk/cuda/internal/staging"
	"github.com/libcuzk/libcuzk/engine/backend"
	"github.com/libcuzk/libcuzk/engine/groth16"
	"github.com/libcuzk/libcuzk/engine/srs"
	"github.com/libcuzk/libcuzk/internal/circuits/synth"
	"github.com/libcuzk/libcuzk/internal/launch"
	"github.com/libcuzk/libcuzk/internal/sched"
	"github.com/libcuzk/libcuzk/internal/vram"
	"github.com/libcuzk/libcuzk/tests/cudasim"
)

// benchRows is just under the domain, as in a PoRep.
func benchRows(log int) int { return 1<<log - 1<<log/40 }

// benchLogs are the sizes to time: those that CUZK_BENCH_LOGS lists, as "26,27".
func benchLogs(b *testing.B) (logs []int) {
	for _, text := range strings.Split(cmp.Or(os.Getenv("CUZK_BENCH_LOGS"), "14,16,18,20,22,24"), ",") {
		log, err := strconv.Atoi(text)
		require.NoError(b, err, "CUZK_BENCH_LOGS")
		logs = append(logs, log)
	}
	return logs
}

// BenchmarkProve times partitions like a PoRep's from ordinary memory: one
// operation is one partition, from Prove to the verified proof, with 1 and 3
// workers. Stage times are means over the partitions; kernels are timed by a
// run of its own. Only for a card: CUZK_REQUIRE_GPU=1.
func BenchmarkProve(b *testing.B) {
	if !onCard() {
		b.Skip("times on the simulator mean nothing; CUZK_REQUIRE_GPU=1 runs it on a card")
	}
	d, _ := open(b, Options{}, cudasim.Config{})
	maker := newMaker(b)
	for _, log := range benchLogs(b) {
		var c *synth.Circuit
		var p *srs.Params
		made := sync.OnceFunc(func() {
			start := time.Now()
			c, p = maker.circuit(b, synth.PoRepLike(benchRows(log), 40), 1)
			b.Logf("2^%d: circuit and parameters in %.2f s", log, time.Since(start).Seconds())
			start = time.Now()
			require.NoError(b, d.Load(context.Background(), p))
			b.Logf("2^%d: %d bytes of parameters loaded in %.3f s", log, p.PointBytes(), time.Since(start).Seconds())
		})
		for _, workers := range []int{1, 3} {
			b.Run(fmt.Sprintf("2^%d/%dworkers", log, workers), func(b *testing.B) {
				made()
				benchmarkProve(b, d, c, p, workers)
			})
		}
		if p != nil {
			b.Log(timedKernels(b, d, c, p, log))
			d.Drop(p)
			require.NoError(b, p.Release())
		}
	}
}

func benchmarkProve(b *testing.B, d *device, c *synth.Circuit, p *srs.Params, workers int) {
	r, s := c.Blinding()
	key, err := groth16.Prepare(p.VerifyingKey())
	require.NoError(b, err)
	var mu sync.Mutex
	stages := map[string]float64{}
	one := func() error {
		sums, err := d.Prove(context.Background(), &backend.Partition{
			Params: p, Assignment: c.Assignment(), RowsRead: func() {},
			Stage: func(name string, seconds float64) {
				mu.Lock()
				defer mu.Unlock()
				stages[name] += seconds
			},
		})
		if err != nil {
			return err
		}
		proof, err := groth16.Assemble(p.VerifyingKey(), sums, &r, &s)
		if err != nil {
			return err
		}
		return key.Verify(c.Assignment().Inputs, proof)
	}
	require.NoError(b, one()) // tables, clocks, memory
	clear(stages)
	b.ResetTimer()
	var group sync.WaitGroup
	left := make(chan struct{}, b.N)
	for range b.N {
		left <- struct{}{}
	}
	close(left)
	failed := make(chan error, workers)
	for range workers {
		group.Go(func() {
			for range left {
				if err := one(); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	group.Wait()
	b.StopTimer()
	close(failed)
	require.NoError(b, <-failed)
	for name, seconds := range stages {
		b.ReportMetric(seconds/float64(b.N)*1e3, name+"-ms")
	}
}

// timedKernels proves once with every kernel timed.
func timedKernels(b *testing.B, d *device, c *synth.Circuit, p *srs.Params, log int) string {
	r, s := c.Blinding()
	session := d.current.Load()
	session.Kernels.Timer = &devcontext.Timer{}
	prove(b, d, p, c.Assignment(), r, s)
	var times map[string]devcontext.Time
	require.NoError(b, session.Watch.Do(func(bound *driver.Bound) (err error) {
		times, err = session.Kernels.Timer.Read(bound)
		return err
	}))
	session.Kernels.Timer = nil
	var names []string
	var total time.Duration
	for name, t := range times {
		names = append(names, name)
		total += t.Total
	}
	sort.Slice(names, func(i, j int) bool { return times[names[i]].Total > times[names[j]].Total })
	var text strings.Builder
	fmt.Fprintf(&text, "2^%d: kernels of one partition, %.3f ms\n", log, total.Seconds()*1e3)
	for _, name := range names {
		fmt.Fprintf(&text, "    %-28s %3d launches %9.3f ms\n", name, times[name].Launches, times[name].Total.Seconds()*1e3)
	}
	return text.String()
}

// BenchmarkStaging times the way of ordinary memory to the card: a job that
// only uploads, 1 GiB of rows or of a witness like a PoRep's.
func BenchmarkStaging(b *testing.B) {
	if !onCard() {
		b.Skip("times on the simulator mean nothing; CUZK_REQUIRE_GPU=1 runs it on a card")
	}
	d, _ := open(b, Options{}, cudasim.Config{})
	const n = 1 << 25
	values := witnessLikePoRep(n)
	need := vram.Need{Resident: []vram.Request{{Bytes: 2 * n * launch.FrBytes}}}
	for name, segments := range map[string]func(launch.Range) staging.Segment{
		"rows": func(to launch.Range) staging.Segment { return staging.Scalars("rows", values, to, 0, nil) },
		"witness": func(to launch.Range) staging.Segment {
			list := &staging.DenseList{
				Indices: to.Slice(n*launch.FrBytes, n*launch.WordBytes), Values: to.Slice(0, n*launch.FrBytes), Capacity: n,
			}
			return list.Aux(values, to.Slice(n*launch.FrBytes*3/2, launch.BitmapBytes(n)), 0)
		},
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(n * launch.FrBytes)
			for range b.N {
				err := d.jobs.Run(b.Context(), need, sched.Work{Upload: func(ctx context.Context, t *sched.Ticket) error {
					h := holdingOf(d.current.Load(), t)
					return h.Uploads.Send(ctx, h.lane(ctx, sched.Upload), segments(h.block(0)))
				}})
				require.NoError(b, err)
			}
		})
	}
}

// witnessLikePoRep is n scalars: 51.1 % are 0, 47.2 % are 1, in no order.
func witnessLikePoRep(n int) []fr.Element {
	rng := rand.New(rand.NewPCG(uint64(n), 1))
	values := make([]fr.Element, n)
	for i := range values {
		switch k := rng.IntN(1000); {
		case k < 511:
		case k < 983:
			values[i].SetOne()
		default:
			values[i].SetUint64(rng.Uint64() | 2)
		}
	}
	return values
}

// BenchmarkLoad times a parameter file on its way to the card, converted and
// checked there. The file is in the page cache, so that the disk does not
// count.
func BenchmarkLoad(b *testing.B) {
	if !onCard() {
		b.Skip("times on the simulator mean nothing; CUZK_REQUIRE_GPU=1 runs it on a card")
	}
	const log = 22
	c, err := synth.New(synth.PoRepLike(benchRows(log), 40), 1)
	require.NoError(b, err)
	path := filepath.Join(b.TempDir(), "bench.params")
	file, err := os.Create(path)
	require.NoError(b, err)
	require.NoError(b, newMaker(b).card.Write(b.Context(), file, c.Exponents()))
	require.NoError(b, file.Close())
	d, _ := open(b, Options{}, cudasim.Config{})
	for b.Loop() {
		p, err := srs.Open(path, srs.Options{})
		require.NoError(b, err)
		b.SetBytes(p.FileBytes())
		require.NoError(b, d.Load(b.Context(), p))
		d.Drop(p)
		require.NoError(b, p.Release())
	}
}
