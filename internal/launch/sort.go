package launch

import (
	"fmt"

	"github.com/libcuzk/libcuzk/cuda/driver"
)

// Sorting the pairs of an MSM: kernels/msm/sort.cu in one step, for few
// scalars, and kernels/msm/bands.cu in two.

// Twins of the constants in msm/bands.cu, msm/batch.cuh and msm/digits.cuh.
const (
	maxBands     = 12288
	maxBandLog   = 10 // of a window
	maxLow       = 11
	entryBytes   = 8
	countThreads = 512
	countBatch   = countThreads * 64 // entries that a block counts
	sortThreads  = 512
	sortBatch    = sortThreads * 16 // pairs that a block sorts
	digitLimbs   = 9
)

const (
	// bandsFrom is the number of scalars from which on two steps are faster.
	bandsFrom = 1 << 19
	// Blocks that count digits, of at least countScalars scalars each, since a block
	// adds its counters to the global ones at its end. An H200 holds 396 blocks.
	countBlocks, countScalars = 1188, 2048
)

var (
	kernelHistogram      = declare[sortArgs]("sort", "cuzk_msm_histogram", 256)
	kernelScatter        = declare[sortArgs]("sort", "cuzk_msm_scatter", 256)
	kernelBandCount      = declare[bandArgs]("bands", "cuzk_band_count", countThreads)
	kernelBandScatter    = declare[bandArgs]("bands", "cuzk_band_scatter", sortThreads)
	kernelEntriesCount   = declare[entriesArgs]("bands", "cuzk_entries_count", countThreads)
	kernelEntriesScatter = declare[entriesArgs]("bands", "cuzk_entries_scatter", sortThreads)
)

type sortArgs struct {
	scalars, positions, counts, sorted uint64
	k                                  [digitLimbs]uint32
	n, c, firstWindow, windows         uint32
	_                                  uint32
}

type bandArgs struct {
	sort       sortArgs
	entries    uint64
	bands, low uint32
}

type entriesArgs struct {
	entries, starts, counts, sorted uint64
	bands, low                      uint32
}

// InBands is the plan with a sort in two steps, whatever its size. It needs other
// scratch.
func (p MSM) InBands() MSM {
	p.bandLog = p.bestBands()
	return p
}

// bestBands is log2 of the number of a window's bands: as many as the counters in
// shared memory allow, at most one for each bucket.
func (p MSM) bestBands() uint32 {
	log := uint32(1)
	for log < maxBandLog && log+1 <= p.Window-1 && uint64(p.Batch)<<(log+1) <= maxBands {
		log++
	}
	if p.Window-1-log > maxLow {
		panic(fmt.Sprintf("BUG: launch: bands of 2^%d buckets, at most 2^%d", p.Window-1-log, maxLow))
	}
	return log
}

// low is log2 of the number of buckets of a band.
func (p MSM) low() uint32 { return p.Window - 1 - p.bandLog }

func (p MSM) bands() uint32 {
	if p.bandLog == 0 {
		return 0
	}
	return p.Batch << p.bandLog
}

// digitConstant is sum over the windows w of 2^(c w + c - 1): msm/digits.cuh.
func (p MSM) digitConstant() (k [digitLimbs]uint32) {
	for w := uint32(0); w < p.Windows; w++ {
		bit := p.Window*w + p.Window - 1
		k[bit/32] |= 1 << (bit % 32)
	}
	return k
}

// sort fills s.sorted and s.offsets for windows first, first + 1, ...
func (p MSM) sort(in MSMInput, s msmScratch, first uint32) []Call {
	args := sortArgs{
		scalars: in.Scalars.Addr, counts: s.counts.Addr, sorted: s.sorted.Addr,
		k: p.digitConstant(), n: p.N, c: p.Window, firstWindow: first, windows: p.Batch,
	}
	input := []driver.Range{reads(in.Scalars, uint64(p.N)*FrBytes)}
	if in.Positions.Bytes != 0 {
		args.positions = in.Positions.Addr
		input = append(input, reads(in.Positions, uint64(p.N)*WordBytes))
	}
	if p.bandLog > 0 {
		return p.sortInTwo(args, input, s)
	}
	n := uint32(p.buckets())
	counts := updates(s.counts, uint64(n)*WordBytes)
	calls := []Call{Fill(s.counts, n, 0), call(kernelHistogram, uint64(p.N), args, with(input, counts)...)}
	calls = append(calls, scan(s.counts, s.offsets, s.scanSums, n)...)
	return append(calls, call(kernelScatter, uint64(p.N), args,
		with(input, counts, writes(s.sorted, p.pairs()*WordBytes))...))
}

// sortInTwo keeps the digits in the buffer of the sorted values, which the last
// scatter overwrites.
func (p MSM) sortInTwo(args sortArgs, input []driver.Range, s msmScratch) []Call {
	n, bands := uint32(p.buckets()), p.bands()
	args.counts = s.bandCounts.Addr
	split := bandArgs{sort: args, entries: s.entries.Addr, bands: bands, low: p.low()}
	bandCounts := updates(s.bandCounts, uint64(bands)*WordBytes)
	words, entries := p.pairs()*WordBytes, p.pairs()*entryBytes
	calls := []Call{
		// The two counts lie one after the other.
		Fill(Range{s.bandCounts.Addr, s.counts.Addr - s.bandCounts.Addr + uint64(n)*WordBytes},
			uint32(s.counts.Addr-s.bandCounts.Addr)/WordBytes+n, 0),
		gridCall(kernelBandCount, min(blocks(uint64(p.N), countScalars), countBlocks), 1, split,
			with(input, bandCounts, writes(s.sorted, words))...),
	}
	calls = append(calls, scan(s.bandCounts, s.starts, s.scanSums, bands)...)
	calls = append(calls, gridCall(kernelBandScatter, blocks(uint64(p.N), sortBatch), p.Batch, split,
		with(input[1:], reads(s.sorted, words), bandCounts, writes(s.entries, entries))...))

	join := entriesArgs{
		entries: s.entries.Addr, starts: s.starts.Addr, counts: s.counts.Addr, sorted: s.sorted.Addr,
		bands: bands, low: p.low(),
	}
	access := []driver.Range{
		reads(s.entries, entries), reads(s.starts, (uint64(bands)+1)*WordBytes),
		updates(s.counts, uint64(n)*WordBytes),
	}
	calls = append(calls, gridCall(kernelEntriesCount, blocks(p.pairs(), countBatch), 1, join, with(access)...))
	calls = append(calls, scan(s.counts, s.offsets, s.scanSums, n)...)
	return append(calls, gridCall(kernelEntriesScatter, blocks(p.pairs(), sortBatch), 1, join,
		with(access, writes(s.sorted, words))...))
}

// with is a copy of access with more at its end.
func with(access []driver.Range, more ...driver.Range) []driver.Range {
	return append(append([]driver.Range(nil), access...), more...)
}
