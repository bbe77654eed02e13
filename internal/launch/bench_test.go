package launch_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/cuda/driver"
	"github.com/libcuzk/libcuzk/internal/launch"
)

// The benchmarks report milliseconds on the device: with CUZK_REQUIRE_GPU=1
// those of a GPU; the simulator's say only that a benchmark runs.

// clock adds up times on the device by the name of what was timed.
type clock struct {
	*rig
	total map[string]time.Duration
}

func (r *rig) clock() *clock { return &clock{r, map[string]time.Duration{}} }

func (c *clock) run(name string, calls ...launch.Call) {
	c.total[name] += c.Time(1, func(b *driver.Bound) error { return c.Enqueue(b, calls...) })
}

// kernels times each call by itself, under the name of its kernel.
func (c *clock) kernels(calls []launch.Call) {
	for _, call := range calls {
		c.run(call.Kernel.Name, call)
	}
}

// report replaces the time on the host by those on the device.
func (c *clock) report(b *testing.B) {
	for name, total := range c.total {
		b.ReportMetric(ms(total)/float64(b.N), name+"-ms")
	}
	b.ReportMetric(0, "ns/op")
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// benchSizes are logarithms.
func benchSizes(device ...int) []int {
	if onDevice() {
		return device
	}
	return []int{6}
}

func size(log int) string { return fmt.Sprintf("2^%d", log) }

// BenchmarkQuotient also reports one transform to the coset's side, and one
// back.
func BenchmarkQuotient(b *testing.B) {
	r := open(b)
	logs := benchSizes(14, 16, 18, 20, 22, 24, 26, 27)
	blocks := [3]launch.Range{}
	for i := range blocks {
		blocks[i] = r.memory(launch.FrBytes << logs[len(logs)-1])
	}
	beta, gamma := r.scalar(), r.scalar()
	for _, log := range logs {
		b.Run(size(log), func(b *testing.B) {
			n := uint32(1) << log
			tables := r.tables(log)
			r.Launch(launch.Powers(blocks[0], beta, gamma, 0, 1, n), launch.Powers(blocks[1], gamma, beta, 0, 1, n))
			q := tables.NewQuotient(blocks[0], blocks[1], blocks[2], upload(r, []uint32{launch.None}), n)
			c := r.clock()
			for b.Loop() {
				c.run("quotient", append(append([]launch.Call(nil), q.Rows...), q.Combine...)...)
				c.run("dif", tables.DIF(blocks[0], launch.Inverse, false)...)
				c.run("dit", tables.DIT(blocks[0], launch.Forward, true)...)
			}
			c.report(b)
		})
	}
}

// BenchmarkMSM is the sum over h of a resident partition, whole and by kernel.
func BenchmarkMSM(b *testing.B) {
	s := openSeries(b)
	for _, log := range benchSizes(14, 16, 18, 20, 22, 24, 26, 27) {
		b.Run(size(log), func(b *testing.B) {
			p, calls, _ := s.msm(b, log)
			c := s.clock()
			for b.Loop() {
				c.run("msm", calls...)
				c.kernels(calls)
			}
			c.report(b)
			b.ReportMetric(float64(p.ScratchBytes()>>20), "scratch-MiB")
			b.ReportMetric(float64(p.Window), "window-bits")
			b.ReportMetric(float64(len(calls)), "launches")
		})
	}
}

// BenchmarkTiledMSM is the sum over h in tiles that lie on the device already.
func BenchmarkTiledMSM(b *testing.B) {
	s := openSeries(b)
	for _, log := range benchSizes(22, 24, 27) {
		b.Run(size(log), func(b *testing.B) {
			p, calls, _ := s.tiled(b, log, min(log-1, 21))
			c := s.clock()
			for b.Loop() {
				c.run("msm", calls...)
			}
			c.report(b)
			b.ReportMetric(float64(p.ScratchBytes()>>20), "scratch-MiB")
			b.ReportMetric(float64(p.Window()), "window-bits")
			b.ReportMetric(float64(len(calls)), "launches")
		})
	}
}

// BenchmarkReverse puts h's coefficients in natural order.
func BenchmarkReverse(b *testing.B) {
	r := open(b)
	for _, log := range benchSizes(27) {
		b.Run(size(log), func(b *testing.B) {
			scalars := r.memory(launch.FrBytes << log)
			r.Launch(launch.Powers(scalars, r.scalar(), fr.One(), 0, 1, 1<<log))
			c := r.clock()
			for b.Loop() {
				c.run("reverse", launch.Reverse(scalars, uint32(log)))
			}
			c.report(b)
		})
	}
}

// BenchmarkOnesOverTheBus reports the points that are read in a second.
func BenchmarkOnesOverTheBus(b *testing.B) {
	s := openSeries(b)
	for _, log := range benchSizes(22) {
		for _, way := range s.ones(b, log) {
			b.Run(fmt.Sprintf("%s/%s", size(log), way.name), func(b *testing.B) {
				result := s.memory(launch.G1.SumBytes())
				c := s.clock()
				for b.Loop() {
					c.run("ones", way.calls(result)...)
				}
				c.report(b)
				read := float64(launch.G1.AffineBytes()<<log) / 2 * float64(b.N) // half of them are one
				b.ReportMetric(read/c.total["ones"].Seconds()/1e9, "GB/s")
			})
		}
	}
}

func BenchmarkRanks(b *testing.B) {
	s := openSeries(b)
	for _, log := range benchSizes(26) {
		b.Run(size(log), func(b *testing.B) {
			n := uint32(1) << log
			density := launch.Density{N: n, Bitmap: s.halfOnes(n), Ranks: s.memory(launch.RanksBytes(n))}
			scratch := s.memory(launch.RankScratchBytes(n))
			c := s.clock()
			for b.Loop() {
				c.run("ranks", density.Calls(scratch)...)
			}
			c.report(b)
		})
	}
}

// BenchmarkOnes sums the points of the variables that are one and have a point:
// half of them.
func BenchmarkOnes(b *testing.B) {
	s := openSeries(b)
	for _, log := range benchSizes(26) {
		for _, g := range []launch.Group{launch.G1, launch.G2} {
			m := uint32(1) << log / uint32(g.AffineBytes()/launch.G1.AffineBytes())
			b.Run(fmt.Sprintf("%v/%d", g, m), func(b *testing.B) {
				bitmap := s.halfOnes(m)
				density := launch.Density{N: m, Bitmap: bitmap, Ranks: s.memory(launch.RanksBytes(m))}
				s.Launch(density.Calls(s.memory(launch.RankScratchBytes(m)))...)
				points := s.points.Slice(0, uint64(m)*g.AffineBytes()) // any field elements do for a time in G2
				calls := launch.Section{Aux: density}.Ones(g, points, bitmap, m,
					s.memory(launch.OnesScratchBytes(g)), s.memory(g.SumBytes()))
				c := s.clock()
				for b.Loop() {
					c.run("ones", calls...)
				}
				c.report(b)
			})
		}
	}
}

// BenchmarkDenseMSM is a sum over the list, whole and by kernel.
func BenchmarkDenseMSM(b *testing.B) {
	s := openSeries(b)
	for _, log := range benchSizes(19) {
		for _, g := range []launch.Group{launch.G1, launch.G2} {
			b.Run(fmt.Sprintf("%v/%s", g, size(log)), func(b *testing.B) {
				p, err := launch.PlanMSM(1<<log, 16<<30, g)
				require.NoError(b, err)
				scalars := s.memory(launch.FrBytes << log)
				s.Launch(launch.Powers(scalars, s.scalar(), s.scalar(), 0, 1, 1<<log))
				calls := p.Calls(launch.MSMInput{
					Scalars: scalars, Points: []launch.Range{s.points}, Scratch: s.scratch(p.ScratchBytes()),
					Results: []launch.Range{s.memory(p.ResultBytes(g))},
				})
				c := s.clock()
				for b.Loop() {
					c.run("msm", calls...)
					c.kernels(calls)
				}
				c.report(b)
			})
		}
	}
}

// BenchmarkPoints makes points of a fixed base, writes them as a parameter file
// has them, and reads them again.
func BenchmarkPoints(b *testing.B) {
	s := openSeries(b)
	tables := []launch.Range{
		upload(s.rig, launch.FixedTableG1(multipleG1(fr.One()))), upload(s.rig, launch.FixedTableG2(multipleG2(fr.One()))),
	}
	for _, log := range benchSizes(20) {
		for i, table := range tables {
			g := launch.Group(i)
			b.Run(fmt.Sprintf("%v/%s", g, size(log)), func(b *testing.B) {
				n := uint32(1) << log
				points, file := s.memory(uint64(n)*g.AffineBytes()), s.memory(uint64(n)*g.AffineBytes())
				scratch, status := s.scratch(launch.FixedScratchBytes(g, n)), s.status()
				c := s.clock()
				for b.Loop() {
					c.run("fixed", launch.Fixed(g, table, s.scalars, points, scratch, n)...)
					c.run("encode", launch.Encode(g, points, file, n))
					c.run("decode", launch.Decode(g, file, points, status, n, 0, 0, uint32(log)))
				}
				c.report(b)
				require.Equal(b, noFault[:], download[uint32](s.rig, status, len(noFault)))
			})
		}
	}
}
