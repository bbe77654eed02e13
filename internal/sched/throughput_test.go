package sched

import (
	"context"
	"flag"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/libcuzk/libcuzk/internal/vram"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var table = flag.Bool("table", false, "print the table of docs/two-locks.md: go test ./internal/sched -run Throughput -v -table")

const gib = 1 << 30

// partition is a 2^27 partition in simulated work. Times are those that
// design and measurements give for one H200: what is simulated is the order.
type partition struct{ dev *simDevice }

// Source: 46.9 GB/s from pageable memory through the ring, 55 GB/s for tiles
// that lie in pinned memory; NTTs 0.20 s, sums 0.07, h 0.45; self-check 3 ms.
const (
	rowBytes    = 4 * gib
	pieceBytes  = 64 * mib // of a or b; the ring holds ringPieces of them
	ringPieces  = 2
	uploadRate  = 46.9e9 // bytes/s
	tileRate    = 55e9   // bytes/s
	tileBytes   = 96 << 21
	hTiles      = 64 // 2^27 / 2^21
	sumTiles    = 84 // half of l, a and b: 17 GB
	nttKernels  = 18 // six NTTs of three passes
	nttTime     = 200 * time.Millisecond
	sumTime     = 70 * time.Millisecond
	hTime       = 450 * time.Millisecond
	finishTime  = 3 * time.Millisecond
	productAt   = 12 // NTT kernels before the product, then b is handed on
	setBytes    = 44 * gib
	sortBytes   = 440 * mib
	bucketBytes = 625 * mib
	treeBytes   = 768 * mib
)

func seconds(x float64) time.Duration { return time.Duration(x * float64(time.Second)) }

var (
	pieceTime  = seconds(pieceBytes / uploadRate)
	tileTime   = seconds(tileBytes / tileRate)
	uploadTime = 2 * rowBytes / pieceBytes * pieceTime
	kernelTime = nttTime + sumTime + hTime
)

func partitionNeed(resident bool) vram.Need {
	a := vram.Request{Bytes: rowBytes, Late: 3}
	b := vram.Request{Bytes: rowBytes}
	c := vram.Request{Bytes: rowBytes, Late: 1}
	classes := vram.Request{Bytes: 124 * mib, Exact: true, Late: 2}
	n := vram.Need{
		Set: vram.NewSet("44 GiB", setBytes),
		Streaming: []vram.Request{a, b, c, classes,
			{Bytes: 2 * tileBytes, Exact: true, Late: 3},
			{Bytes: sortBytes + bucketBytes + treeBytes, Exact: true, Late: 3}},
	}
	if resident {
		// A whole window at a time: sort 2, prefix products 3, sums 6 + 3 GiB.
		n.Resident = []vram.Request{a, b, c, classes, {Bytes: 256, Exact: true}, {Bytes: 14 * gib, Exact: true}}
	}
	return n
}

const (
	tilesBlock   = 4
	scratchBlock = 5
)

func (p partition) upload(ctx context.Context, t *Ticket) error {
	var ring []*Mark
	for i := range 2 {
		for range rowBytes / pieceBytes {
			if len(ring) == ringPieces {
				if err := t.Await(ctx, ring[0]); err != nil {
					return err
				}
				ring = ring[1:]
			}
			err := t.Enqueue(ctx, Upload, func() error {
				return p.dev.work(int64(t.Number()), Upload, pieceTime, true, t.Block(i))
			}, i)
			if err != nil {
				return err
			}
			m, err := t.Record(Upload)
			if err != nil {
				return err
			}
			ring = append(ring, m)
		}
	}
	return nil
}

// compute interleaves the NTTs before the product with the sums over l, a and
// b, so that tiles cross the bus while NTTs run, then does the rest of the NTTs
// and h: by then the bus has room for the next job's a and b.
func (p partition) compute(ctx context.Context, t *Ticket) error {
	feed := feeder{p: p, t: t}
	for k := range nttKernels {
		use := []int{0, 1}
		if k >= productAt {
			use = []int{0, 2}
		}
		if err := feed.kernel(ctx, nttTime/nttKernels, use...); err != nil {
			return err
		}
		for i := k * sumTiles / productAt; k < productAt && i < (k+1)*sumTiles/productAt; i++ {
			if err := feed.tile(ctx, sumTime/sumTiles, 3); err != nil {
				return err
			}
		}
		if k+1 == productAt {
			if err := t.HandOn(1, 3); err != nil {
				return err
			}
		}
	}
	if err := t.HandOn(2); err != nil {
		return err
	}
	for range hTiles {
		if err := feed.tile(ctx, hTime/hTiles, 0); err != nil {
			return err
		}
	}
	return nil
}

// feeder enqueues kernels, and in the streaming tier the tiles before them.
type feeder struct {
	p    partition
	t    *Ticket
	n    int
	free [2]*Mark
}

func (f *feeder) kernel(ctx context.Context, dur time.Duration, use ...int) error {
	return f.t.Enqueue(ctx, Compute, func() error {
		var on []vram.Block
		for _, i := range use {
			on = append(on, f.t.Block(i))
		}
		return f.p.dev.work(int64(f.t.Number()), Compute, dur, false, on...)
	}, use...)
}

func (f *feeder) tile(ctx context.Context, dur time.Duration, use ...int) error {
	use = append(use, scratchBlock)
	if f.t.Resident() {
		return f.kernel(ctx, dur, append(use, ParamSet)...)
	}
	slot := f.n % len(f.free)
	f.n++
	if m := f.free[slot]; m != nil {
		if err := f.t.Await(ctx, m); err != nil {
			return err
		}
	}
	place := f.t.Block(tilesBlock)
	place = vram.Block{Offset: place.Offset + uint64(slot)*tileBytes, Bytes: tileBytes}
	err := f.t.Enqueue(ctx, Tiles, func() error {
		return f.p.dev.work(int64(f.t.Number()), Tiles, tileTime, true, place)
	}, tilesBlock)
	if err != nil {
		return err
	}
	m, err := f.t.Record(Tiles)
	if err != nil {
		return err
	}
	if err := f.t.Order(Compute, m); err != nil {
		return err
	}
	if err := f.kernel(ctx, dur, append(use, tilesBlock)...); err != nil {
		return err
	}
	f.free[slot], err = f.t.Record(Compute)
	return err
}

func (p partition) work() Work {
	return Work{
		Upload:  p.upload,
		Compute: p.compute,
		Finish: func(ctx context.Context, t *Ticket) error {
			if err := t.Await(ctx, t.last[Compute]); err != nil {
				return err
			}
			time.Sleep(finishTime)
			return nil
		},
	}
}

// sustained runs jobs partitions with workers workers and returns the time
// between the ends of two of them in the middle, and the share of that time
// in which no kernel runs.
func sustained(t *testing.T, budget uint64, resident bool, workers int) (period time.Duration, idle float64) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, budget, func(c *Config) { c.Chunk = ChunkBytes })
		b.audit = nil // thousands of steps on few spans; the random schedules audit
		n := partitionNeed(resident)
		if resident {
			require.NoError(t, b.Load(t.Context(), n, func(ctx context.Context, l *Loading) error {
				return l.Enqueue(ctx, func() error { return b.dev.work(-1, Load, time.Second, true, l.Block()) })
			}))
		}
		const jobs, skip = 24, 8
		var mu sync.Mutex
		var ends []time.Duration
		queue := NewQueue[int]()
		var left sync.WaitGroup
		left.Add(jobs)
		pool := NewPool(queue, func(*Carried, int) {
			defer left.Done()
			if err := b.Run(context.Background(), n, partition{dev: b.dev}.work()); err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			ends = append(ends, b.dev.now())
		})
		for i := range jobs {
			_, err := queue.Push(i, Normal)
			require.NoError(t, err)
		}
		pool.SetWorkers(workers)
		left.Wait()
		pool.Close()
		b.close()
		// Whole rounds of workers, so that the phase does not matter.
		first, last := ends[skip-1], ends[len(ends)-skip-1]
		period = (last - first) / (jobs - 2*skip)
		idle = max(0, 1-float64(kernelTime)/float64(period))
	})
	return period, idle
}

// turnAlone is how long a job's kernels take in the streaming tier when it has
// the bus to itself, worked out without the protocol: a kernel starts when the
// one before is done and its tile has come, and a tile is copied when the one
// before has come and the kernel two tiles back is done.
func turnAlone() time.Duration {
	var kernel, bus time.Duration
	var slots [2]time.Duration
	n := 0
	tile := func(dur time.Duration) {
		bus = max(bus, slots[n%2]) + tileTime
		kernel = max(kernel, bus) + dur
		slots[n%2] = kernel
		n++
	}
	for k := range nttKernels {
		kernel += nttTime / nttKernels
		for i := k * sumTiles / productAt; k < productAt && i < (k+1)*sumTiles/productAt; i++ {
			tile(sumTime / sumTiles)
		}
	}
	for range hTiles {
		tile(hTime / hTiles)
	}
	return kernel
}

// TestThroughput asserts, on the virtual clock, that a budget for one job and
// a set that is streamed cost nothing but what the bus and the kernels take.
func TestThroughput(t *testing.T) {
	const card16, card139 = 16*gib - 700*mib - 550*mib, 139 * gib
	var tracks []string
	row := func(name string, workers int, allowed, period time.Duration, idle float64) {
		tracks = append(tracks, fmt.Sprintf("| %s | %d | %.3f | %.3f | %.1f %% |", name, workers, allowed.Seconds(), period.Seconds(), 100*idle))
		assert.InEpsilon(t, allowed.Seconds(), period.Seconds(), 0.01, "%s, %d workers", name, workers)
	}
	for workers := 1; workers <= 4; workers++ {
		period, idle := sustained(t, card139, true, workers)
		allowed := max(kernelTime, uploadTime)
		if workers == 1 {
			allowed = uploadTime + kernelTime + finishTime
		}
		row("139 GiB, set resident", workers, allowed, period, idle)
	}
	for workers := 1; workers <= 4; workers++ {
		period, idle := sustained(t, card16, false, workers)
		allowed := turnAlone()
		if workers == 1 {
			allowed += uploadTime + finishTime
		}
		row("16 GiB, set streamed", workers, allowed, period, idle)
	}
	if *table {
		fmt.Println(strings.Join(tracks, "\n"))
	}
}
