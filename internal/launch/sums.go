package launch

import "github.com/libcuzk/libcuzk/cuda/driver"

// Twins of the constants in sums/ones.cuh.
const (
	rankRun   = 1024
	onesBatch = 4096
	// onesBlocks fills a large GPU several times over, and leaves few sums.
	onesBlocks = 2048
	// onesHostBlocks has many times the loads under way, 3 KiB for each of a block's
	// four warps, that keep a bus of 55 GB/s busy. Since these blocks mostly wait for
	// the bus, they leave most of a large GPU to other kernels.
	onesHostBlocks = 256
)

// None is the position of a variable without a point.
const None = ^uint32(0)

var (
	kernelDensity   = declare[densityArgs]("sums", "cuzk_density_count", 256)
	kernelPositions = declare[positionsArgs]("sums", "cuzk_dense_positions", 256)
	kernelOnes      = [...]*Kernel{
		declare[onesArgs]("g1_accumulate", "cuzk_sums_g1_ones", 128),
		declare[onesArgs]("g2", "cuzk_sums_g2_ones", 128),
	}
)

type densityArgs struct {
	density, counts uint64
	n, _            uint32
}

type positionsArgs struct {
	aux, inputDensity, inputRanks, density, ranks, positions uint64
	n, inputs, mode, base                                    uint32
}

type onesArgs struct {
	points, ones, density, ranks, out uint64
	n, base, onHost, _                uint32
}

// Density says which variables have a point in a section, with the number of those
// before every 1024th variable. The zero Density means that all have one.
type Density struct {
	N      uint32 // variables
	Bitmap Range  // BitmapBytes(N); bits past N are ignored
	Ranks  Range  // RanksBytes(N), filled by Calls
}

// BitmapBytes is the size of a bitmap of n variables, bit i in bit i % 32 of
// word i / 32.
func BitmapBytes(n uint32) uint64 { return (uint64(n) + 31) / 32 * WordBytes }

// RanksBytes is the size of a Density's ranks.
func RanksBytes(n uint32) uint64 { return (uint64(blocks(uint64(n), rankRun)) + 1) * WordBytes }

// RankScratchBytes is the scratch that Density.Calls needs.
func RankScratchBytes(n uint32) uint64 {
	runs := blocks(uint64(n), rankRun)
	return align(uint64(runs)*WordBytes) + align(scanSumsBytes(runs))
}

// Calls fill the ranks. The last word of Ranks is the bitmap's popcount.
func (d Density) Calls(scratch Range) []Call {
	runs := blocks(uint64(d.N), rankRun)
	if runs == 0 {
		return []Call{Fill(d.Ranks, 1, 0)}
	}
	l := Layout{Whole: scratch}
	counts, sums := l.Take(uint64(runs)*WordBytes), l.Take(scanSumsBytes(runs))
	calls := []Call{call(kernelDensity, uint64(runs),
		densityArgs{density: d.Bitmap.Addr, counts: counts.Addr, n: d.N},
		reads(d.Bitmap, BitmapBytes(d.N)), writes(counts, uint64(runs)*WordBytes))}
	return append(calls, scan(counts, d.Ranks, sums, runs)...)
}

// InputMode says which input variables have a point in a section.
type InputMode uint32

// No input has a point (section l), all have (a), or those in a bitmap (b).
const (
	InputsNone    InputMode = 0
	InputsAll     InputMode = 1
	InputsDensity InputMode = 2
)

// Section says where the points of variables lie in one section of the
// parameters: first those of input variables, then, from Base on, those of aux
// variables.
type Section struct {
	Mode   InputMode
	Inputs Density // InputsDensity
	Aux    Density // zero: every aux variable
	Base   uint32  // points of input variables
	OnHost bool    // the points lie in host memory, which kernels read over the bus
}

// Positions writes where in the section the point of each entry of a dense list
// lies: entry j < inputs is input j, and the others are the aux variables
// aux[j - inputs]. positions[j] is None where there is no point. n >= 1.
func (s Section) Positions(aux, positions Range, inputs, n uint32) Call {
	args := positionsArgs{
		aux: aux.Addr, positions: positions.Addr, n: n, inputs: inputs, mode: uint32(s.Mode), base: s.Base,
	}
	access := []driver.Range{writes(positions, uint64(n)*WordBytes)}
	if n > inputs {
		access = append(access, reads(aux, uint64(n-inputs)*WordBytes))
	}
	if s.Mode == InputsDensity && inputs > 0 {
		args.inputDensity, args.inputRanks = s.Inputs.Bitmap.Addr, s.Inputs.Ranks.Addr
		access = append(access, s.Inputs.access()...)
	}
	if s.Aux.Bitmap.Bytes != 0 {
		args.density, args.ranks = s.Aux.Bitmap.Addr, s.Aux.Ranks.Addr
		access = append(access, s.Aux.access()...)
	}
	return call(kernelPositions, uint64(n), args, access...)
}

func (d Density) access() []driver.Range {
	return []driver.Range{reads(d.Bitmap, BitmapBytes(d.N)), reads(d.Ranks, RanksBytes(d.N))}
}

// OnesScratchBytes is the scratch that Ones needs.
func OnesScratchBytes(g Group) uint64 { return (onesBlocks + sumBlocks) * g.SumBytes() }

// Ones adds up the section's points of the aux variables whose bit in ones is
// set: ones has n bits, those past n are clear. result is one sum.
func (s Section) Ones(g Group, points, ones Range, n uint32, scratch, result Range) []Call {
	if n == 0 {
		return []Call{Fill(result, uint32(g.SumBytes()/WordBytes), 0)}
	}
	l := Layout{Whole: scratch}
	sums, partial := l.Take(onesBlocks*g.SumBytes()), l.Take(sumBlocks*g.SumBytes())
	maxBlocks := uint32(onesBlocks)
	if s.OnHost {
		maxBlocks = onesHostBlocks
	}
	grid := min(blocks(uint64(n), onesBatch), maxBlocks)
	args := onesArgs{points: points.Addr, ones: ones.Addr, out: sums.Addr, n: n, base: s.Base}
	if s.OnHost {
		args.onHost = 1
	}
	access := []driver.Range{points.touched(driver.Read), reads(ones, BitmapBytes(n)), writes(sums, uint64(grid)*g.SumBytes())}
	if s.Aux.Bitmap.Bytes != 0 {
		args.density, args.ranks = s.Aux.Bitmap.Addr, s.Aux.Ranks.Addr
		access = append(access, s.Aux.access()...)
	}
	calls := []Call{gridCall(kernelOnes[g], grid, 1, args, access...)}
	return append(calls, sumSegments(g, sums, partial, result, grid, 1)...)
}
