package launch_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	bls "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/internal/driver"
	"github.com/libcuzk/libcuzk/internal/launch"
)

// TestTimes prints what the operations cost on a card, and checks the large
// sums by closed forms: points are [gamma^(i mod 2^20)] G, scalars beta^i.
func TestTimes(t *testing.T) {
	if !onCard() || testing.Short() {
		t.Skip("times are measured on a card (CUZK_REQUIRE_GPU=1) without -short")
	}
	const logPool = 20
	r := open(t)
	gamma, beta := r.scalar(), r.scalar()
	logMax := 27
	points := r.pooledPoints(gamma, logPool, logMax)
	scalars := r.memory(launch.FrBytes << logMax)
	r.Launch(launch.Powers(scalars, beta, fr.One(), 0, 1, 1<<logMax))

	blocks := [3]launch.Range{}
	for i := range blocks {
		blocks[i] = r.memory(launch.FrBytes << logMax)
	}
	fmt.Println("log2  quotient ms  (dif, dit)       h MSM ms  scratch MiB  windows x bits, at a time  launches")
	for _, log := range timedLogs(t) {
		times := 3
		if log > 24 {
			times = 2
		}
		n := uint32(1) << log
		tables := r.tables(log)
		bad := upload(r, []uint32{launch.None})
		r.Launch(launch.Powers(blocks[0], beta, gamma, 0, 1, n), launch.Powers(blocks[1], gamma, beta, 0, 1, n))
		q := tables.NewQuotient(blocks[0], blocks[1], blocks[2], bad, n)
		quotient := r.time(times, append(append([]launch.Call(nil), q.Rows...), q.Combine...))
		dif := r.time(times, tables.DIF(blocks[0], launch.Inverse, false))
		dit := r.time(times, tables.DIT(blocks[0], launch.Forward, true))

		p, err := launch.PlanAffineMSM(n, 16<<30)
		require.NoError(t, err)
		in := launch.MSMInput{
			Scalars: scalars, Points: []launch.Range{points}, Scratch: r.scratch(p.ScratchBytes()),
			Results: []launch.Range{r.memory(p.ResultBytes(launch.G1))},
		}
		calls := p.Calls(in)
		took := r.time(times, calls)
		got := p.ResultG1(download[byte](r, in.Results[0], int(in.Results[0].Bytes)))
		require.Equal(t, multipleG1(pooledSum(gamma, beta, logPool, log)), affineG1(got), "MSM of 2^%d", log)
		fmt.Printf("%4d  %11.2f  (%6.2f, %6.2f)  %9.2f  %11d  %d x %d, %d  %d\n", log, ms(quotient), ms(dif), ms(dit),
			ms(took), p.ScratchBytes()>>20, p.Windows, p.Window, p.Batch, len(calls))
		r.byKernel(calls)
	}
	if os.Getenv("CUZK_TIMES") != "" {
		return
	}
	r.timeTiles(points, scalars, pooledSums(gamma, beta, logPool), 21, 22, 24, 27)
	fmt.Printf("reversal of 2^27 scalars: %.2f ms\n", ms(r.time(2, []launch.Call{launch.Reverse(blocks[0], 27)})))
	r.timeHostPoints(points, 22)
	r.timeSums(points, 26)
	r.timePoints(points, scalars)
}

// timedLogs is what CUZK_TIMES says ("14 27"), or every second size.
func timedLogs(t *testing.T) []int {
	text := os.Getenv("CUZK_TIMES")
	if text == "" {
		text = "14 16 18 20 22 24 26 27"
	}
	var logs []int
	for _, word := range strings.Fields(text) {
		log, err := strconv.Atoi(word)
		require.NoError(t, err, "CUZK_TIMES")
		logs = append(logs, log)
	}
	return logs
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func (r *rig) time(times int, calls []launch.Call) time.Duration {
	return r.Time(times, func(b *driver.Bound) error { return r.Enqueue(b, calls...) })
}

// byKernel prints the time of each kernel of a sequence, summed over its calls.
func (r *rig) byKernel(calls []launch.Call) {
	total := map[string]time.Duration{}
	var order []string
	for _, c := range calls {
		if _, seen := total[c.Kernel.Name]; !seen {
			order = append(order, c.Kernel.Name)
		}
		total[c.Kernel.Name] += r.time(1, []launch.Call{c})
	}
	for _, name := range order {
		fmt.Printf("        %-26s %9.3f ms\n", name, ms(total[name]))
	}
}

var scratchOf = map[*rig]launch.Range{}

// scratch is one piece of memory, made large enough for all that ask.
func (r *rig) scratch(bytes uint64) launch.Range {
	if scratchOf[r].Bytes == 0 {
		scratchOf[r] = r.memory(20 << 30)
	}
	return scratchOf[r].Slice(0, bytes)
}

// timeTiles times what a job does that has no room for h's points.
func (r *rig) timeTiles(points, scalars launch.Range, sums func(log int) fr.Element, logTile int, logs ...int) {
	for _, log := range logs {
		p, err := launch.PlanTiledMSM(1<<log, 1<<logTile, ample, launch.G1)
		require.NoError(r.T, err)
		scratch, result := r.scratch(p.ScratchBytes()), r.memory(p.ResultBytes())
		calls := p.Reset(scratch)
		for first := uint64(0); first < 1<<log; first += 1 << logTile {
			calls = append(calls, p.Tile(launch.TileInput{
				N: 1 << logTile, Scratch: scratch,
				Scalars: scalars.Slice(first*launch.FrBytes, launch.FrBytes<<logTile),
				Points:  points.Slice(first*launch.G1.AffineBytes(), launch.G1.AffineBytes()<<logTile),
			})...)
		}
		calls = append(calls, p.Reduce(scratch, result)...)
		took := r.time(1, calls)
		got := p.ResultG1(download[byte](r, result, int(result.Bytes)))
		require.Equal(r.T, multipleG1(sums(log)), affineG1(got), "MSM of 2^%d in tiles", log)
		fmt.Printf("h MSM of 2^%d in tiles of 2^%d, resident: %.2f ms, %d windows of %d bits, scratch %d MiB, %d launches\n",
			log, logTile, ms(took), p.Windows(), p.Window(), p.ScratchBytes()>>20, len(calls))
	}
}

// timeHostPoints times sums over ones whose points kernels read over the bus,
// 16 bytes a thread, and a point a thread.
func (r *rig) timeHostPoints(points launch.Range, log int) {
	n := uint32(1) << log
	size := launch.G1.AffineBytes() << log
	var host []byte
	var at driver.DevicePtr
	r.Do(func(b *driver.Bound) (err error) {
		if host, err = b.HostAlloc(int(size)); err != nil {
			return err
		}
		if at, err = b.HostAddress(host); err != nil {
			return err
		}
		if err = b.CopyToHost(host, driver.DevicePtr(points.Addr), r.Stream); err != nil {
			return err
		}
		return b.Synchronize(r.Stream)
	})
	defer r.Do(func(b *driver.Bound) error { return b.HostFreeDeviceWide(host) })
	ones := make([]uint32, n/32)
	for i := range ones {
		ones[i] = r.random.Uint32()
	}
	bitmap, scratch := upload(r, ones), r.memory(launch.OnesScratchBytes(launch.G1))
	var results [3]launch.Range
	for i, c := range []struct {
		what   string
		points uint64
		onHost bool
	}{{"on the card", points.Addr, false}, {"on the host, a point a thread", uint64(at), false}, {"on the host, by warps", uint64(at), true}} {
		results[i] = r.memory(launch.G1.SumBytes())
		took := r.time(2, launch.Section{OnHost: c.onHost}.Ones(launch.G1, launch.Range{Addr: c.points, Bytes: size}, bitmap, n, scratch, results[i]))
		fmt.Printf("g1 sum of ones, 2^%d variables, half of them one, %s: %.2f ms, %.1f GB/s of points\n",
			log, c.what, ms(took), float64(size)/2/took.Seconds()/1e9)
	}
	sum := func(i int) bls.G1Affine {
		return affineG1(launch.SumsG1(download[byte](r, results[i], int(results[i].Bytes)), 1)[0])
	}
	require.Equal(r.T, sum(0), sum(1))
	require.Equal(r.T, sum(0), sum(2))
}

// pooledSums is pooledSum for one pool.
func pooledSums(gamma, beta fr.Element, logPool int) func(log int) fr.Element {
	return func(log int) fr.Element { return pooledSum(gamma, beta, logPool, log) }
}

// pooledPoints makes 2^logPool points and repeats them up to 2^log.
func (r *rig) pooledPoints(gamma fr.Element, logPool, log int) launch.Range {
	pool := uint32(1) << logPool
	size := launch.G1.AffineBytes()
	points := r.memory(size << log)
	logs := r.memory(launch.FrBytes << logPool)
	r.Launch(launch.Powers(logs, gamma, fr.One(), 0, 1, pool))
	table := upload(r, launch.FixedTableG1(multipleG1(fr.One())))
	r.Launch(launch.Fixed(launch.G1, table, logs, points.Slice(0, size<<logPool),
		r.memory(launch.FixedScratchBytes(launch.G1, pool)), pool)...)
	r.Do(func(b *driver.Bound) error {
		for at := size << logPool; at < points.Bytes; at *= 2 {
			if err := b.CopyOnDevice(driver.DevicePtr(points.Addr+at), driver.DevicePtr(points.Addr), at, r.Stream); err != nil {
				return err
			}
		}
		return b.Synchronize(r.Stream)
	})
	return points
}

// pooledSum is sum over i < 2^log of beta^i gamma^(i mod 2^logPool).
func pooledSum(gamma, beta fr.Element, logPool, log int) fr.Element {
	var both fr.Element
	both.Mul(&gamma, &beta)
	if log <= logPool {
		return geometric(both, 1<<log)
	}
	sum, outer := geometric(both, 1<<logPool), geometric(power(beta, 1<<logPool), 1<<(log-logPool))
	return *sum.Mul(&sum, &outer)
}

// geometric is (x^n - 1) / (x - 1).
func geometric(x fr.Element, n int) fr.Element {
	one := fr.One()
	top := vanishing(x, n)
	x.Sub(&x, &one)
	return *top.Div(&top, &x)
}

func (r *rig) timeSums(points launch.Range, log int) {
	n := uint32(1) << log
	ones := make([]uint32, n/32)
	for i := range ones {
		ones[i] = r.random.Uint32()
	}
	bitmap := upload(r, ones)
	density := launch.Density{N: n, Bitmap: upload(r, ones), Ranks: r.memory(launch.RanksBytes(n))}
	fmt.Printf("ranks of 2^%d variables: %.2f ms\n", log, ms(r.time(2, density.Calls(r.memory(launch.RankScratchBytes(n))))))
	for _, g := range []launch.Group{launch.G1, launch.G2} {
		from := points
		if g == launch.G2 { // any field elements do for a time
			from = points.Slice(0, points.Bytes/2)
		}
		m := n / uint32(g.AffineBytes()/launch.G1.AffineBytes())
		calls := launch.Section{Aux: launch.Density{N: m, Bitmap: density.Bitmap, Ranks: density.Ranks}}.
			Ones(g, from, bitmap, m, r.memory(launch.OnesScratchBytes(g)), r.memory(g.SumBytes()))
		fmt.Printf("%v sum of ones, 2^%d variables, half of them one: %.2f ms\n", g, log-int(g), ms(r.time(2, calls)))
	}
	for _, g := range []launch.Group{launch.G1, launch.G2} {
		const dense = 1 << 19
		p, err := launch.PlanMSM(dense, 16<<30, g)
		require.NoError(r.T, err)
		scalars := r.memory(launch.FrBytes * dense)
		r.Launch(launch.Powers(scalars, r.scalar(), r.scalar(), 0, 1, dense))
		calls := p.Calls(launch.MSMInput{
			Scalars: scalars, Points: []launch.Range{points}, Scratch: r.scratch(p.ScratchBytes()),
			Results: []launch.Range{r.memory(p.ResultBytes(g))},
		})
		fmt.Printf("%v dense MSM of 2^19: %.2f ms\n", g, ms(r.time(2, calls)))
		r.byKernel(calls)
	}
}

func (r *rig) timePoints(points, scalars launch.Range) {
	const n = 1 << 20
	table1 := upload(r, launch.FixedTableG1(multipleG1(fr.One())))
	table2 := upload(r, launch.FixedTableG2(multipleG2(fr.One())))
	for g, table := range []launch.Range{table1, table2} {
		g := launch.Group(g)
		out := r.memory(n * g.AffineBytes())
		scratch := r.scratch(launch.FixedScratchBytes(g, n))
		fmt.Printf("%v fixed-base, 2^20: %.2f ms\n", g, ms(r.time(2, launch.Fixed(g, table, scalars, out, scratch, n))))
		file := r.memory(n * g.AffineBytes())
		fmt.Printf("%v encode, 2^20: %.2f ms\n", g, ms(r.time(2, []launch.Call{launch.Encode(g, out, file, n)})))
		status := r.status()
		fmt.Printf("%v decode, 2^20: %.2f ms\n", g, ms(r.time(2, []launch.Call{launch.Decode(g, file, out, status, n, 0, 0, 20)})))
		require.Equal(r.T, launch.DecodeStatusReset[:], download[uint32](r, status, 5))
	}
}
