package launch

import (
	"fmt"

	"github.com/libcuzk/libcuzk/cuda/driver"
)

// Sorting the pairs of an MSM: kernels/msm/sort.cu in one step, for few
// scalars, and kernels/msm/partition.cu in two.

// Twins of the constants in msm/partition.cu, msm/tile.cuh and msm/digits.cuh.
const (
	maxPartitions   = 12288
	maxPartitionLog = 10 // of a window's partitions
	maxLow          = 11
	entryBytes      = 8
	countThreads    = 512
	countTile       = countThreads * 64 // entries of a block that counts
	tileThreads     = 512
	sortTile        = tileThreads * 16 // pairs of a block that sorts
	digitLimbs      = 9
)

const (
	// partitionFrom is where two steps begin to be faster.
	partitionFrom = 1 << 19
	// Blocks that count digits, for at least countScalars each: each adds its
	// counters to the global ones at its end. An H200 runs 396 at a time.
	countBlocks, countScalars = 1188, 2048
)

var (
	kernelHistogram        = declare[sortArgs]("sort", "cuzk_msm_histogram", 256)
	kernelScatter          = declare[sortArgs]("sort", "cuzk_msm_scatter", 256)
	kernelPartitionCount   = declare[partitionArgs]("partition", "cuzk_partition_count", countThreads)
	kernelPartitionScatter = declare[partitionArgs]("partition", "cuzk_partition_scatter", tileThreads)
	kernelEntriesCount     = declare[entriesArgs]("partition", "cuzk_entries_count", countThreads)
	kernelEntriesScatter   = declare[entriesArgs]("partition", "cuzk_entries_scatter", tileThreads)
)

type sortArgs struct {
	scalars, positions, counts, sorted uint64
	k                                  [digitLimbs]uint32
	n, c, firstWindow, windows         uint32
	_                                  uint32
}

type partitionArgs struct {
	sort            sortArgs
	entries         uint64
	partitions, low uint32
}

type entriesArgs struct {
	entries, starts, counts, sorted uint64
	partitions, low                 uint32
}

// Partitioned is the plan with a sort in two steps whatever its size, which
// needs other scratch.
func (p MSM) Partitioned() MSM {
	p.partitionLog = p.bestPartition()
	return p
}

// bestPartition is log2 of a window's partitions: as many as the counters in
// shared memory allow, at most one a bucket.
func (p MSM) bestPartition() uint32 {
	log := uint32(1)
	for log < maxPartitionLog && log+1 <= p.Window-1 && uint64(p.Batch)<<(log+1) <= maxPartitions {
		log++
	}
	if p.Window-1-log > maxLow {
		panic(fmt.Sprintf("BUG: launch: partitions of 2^%d buckets, at most 2^%d", p.Window-1-log, maxLow))
	}
	return log
}

// low is log2 of the buckets of a partition.
func (p MSM) low() uint32 { return p.Window - 1 - p.partitionLog }

func (p MSM) partitions() uint32 {
	if p.partitionLog == 0 {
		return 0
	}
	return p.Batch << p.partitionLog
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
	if p.partitionLog > 0 {
		return p.sortInTwo(args, input, s)
	}
	n := uint32(p.buckets())
	counts := updates(s.counts, uint64(n)*WordBytes)
	calls := []Call{Fill(s.counts, n, 0), call(kernelHistogram, uint64(p.N), args, with(input, counts)...)}
	calls = append(calls, scan(s.counts, s.offsets, s.scanSums, n)...)
	return append(calls, call(kernelScatter, uint64(p.N), args,
		with(input, counts, writes(s.sorted, p.pairs()*WordBytes))...))
}

// sortInTwo has the digits where the sorted values go at the end.
func (p MSM) sortInTwo(args sortArgs, input []driver.Range, s msmScratch) []Call {
	n, partitions := uint32(p.buckets()), p.partitions()
	args.counts = s.partitionCounts.Addr
	split := partitionArgs{sort: args, entries: s.entries.Addr, partitions: partitions, low: p.low()}
	partitionCounts := updates(s.partitionCounts, uint64(partitions)*WordBytes)
	words, entries := p.pairs()*WordBytes, p.pairs()*entryBytes
	calls := []Call{
		// The two counts lie one after the other.
		Fill(Range{s.partitionCounts.Addr, s.counts.Addr - s.partitionCounts.Addr + uint64(n)*WordBytes},
			uint32(s.counts.Addr-s.partitionCounts.Addr)/WordBytes+n, 0),
		gridCall(kernelPartitionCount, min(blocks(uint64(p.N), countScalars), countBlocks), 1, split,
			with(input, partitionCounts, writes(s.sorted, words))...),
	}
	calls = append(calls, scan(s.partitionCounts, s.starts, s.scanSums, partitions)...)
	calls = append(calls, gridCall(kernelPartitionScatter, blocks(uint64(p.N), sortTile), p.Batch, split,
		with(input[1:], reads(s.sorted, words), partitionCounts, writes(s.entries, entries))...))

	join := entriesArgs{
		entries: s.entries.Addr, starts: s.starts.Addr, counts: s.counts.Addr, sorted: s.sorted.Addr,
		partitions: partitions, low: p.low(),
	}
	access := []driver.Range{
		reads(s.entries, entries), reads(s.starts, (uint64(partitions)+1)*WordBytes),
		updates(s.counts, uint64(n)*WordBytes),
	}
	calls = append(calls, gridCall(kernelEntriesCount, blocks(p.pairs(), countTile), 1, join, with(access)...))
	calls = append(calls, scan(s.counts, s.offsets, s.scanSums, n)...)
	return append(calls, gridCall(kernelEntriesScatter, blocks(p.pairs(), sortTile), 1, join,
		with(access, writes(s.sorted, words))...))
}

// with is a copy of access with more at its end.
func with(access []driver.Range, more ...driver.Range) []driver.Range {
	return append(append([]driver.Range(nil), access...), more...)
}
