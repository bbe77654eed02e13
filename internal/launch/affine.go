package launch

import "github.com/libcuzk/libcuzk/cuda/driver"

// Bucket sums by affine additions: kernels/msm/affine.cuh.

const (
	// affineBlocks fills a B200: 3 blocks on each of its 148 multiprocessors.
	// affineThreads fills an H200: 3 blocks of 128 threads on each of 132.
	affineBlocks  = 3 * 148
	affineThreads = 3 * 132 * 128
	// minAffine is the number of pairs for each thread of an H200 below which the
	// columns are not worth their memory: with 1324 pairs, of 2^22 scalars, the sum
	// is 3 % faster and takes 1.8 GiB more; with 4303, of 2^24, 10 % and 2 GiB.
	minAffine = 4096
	// Pairs of a thread's run. An inversion costs 40 to 80 products, and a run needs
	// about log2(pairs of a bucket) inversions. Shorter runs than minAffineRun, or
	// fewer pairs in a bucket than minAffinePairs, cost more than they save. Runs
	// longer than longAffineRun pay only if they need no new memory, because their
	// columns fit where the sort's entries were.
	minAffineRun, longAffineRun, maxAffineRun = 128, 512, 1024
	minAffinePairs                            = 8
	// affineSteps is the number of batches of windows up to which more batches are
	// better than shorter runs. Beyond it shorter runs are better.
	affineSteps = 4
)

var kernelAccumulateAffine = declare[accumulateAffineArgs]("g1_affine", "cuzk_msm_g1_affine", 128)

type accumulateAffineArgs struct {
	to            accumulateArgs
	columns, next uint64
}

// PlanAffineMSM is PlanMSM of one sum in G1 that has the device for itself. The
// plan has affine additions if there are pairs enough to fill the device and
// scratch enough for the columns.
func PlanAffineMSM(n uint32, scratchLimit uint64) (MSM, error) {
	window := bestWindow(n)
	windows := windowsOf(window)
	for done := uint32(0); done < windows; done += affineSteps {
		for maxRun := uint32(maxAffineRun); maxRun >= minAffineRun; maxRun /= 2 {
			for steps := done + 1; steps <= min(done+affineSteps, windows); steps++ {
				p := MSM{N: n, Groups: []Group{G1}}.shape(window, windows, blocks(uint64(windows), uint64(steps)))
				if p, ok := p.affineWithin(maxRun, scratchLimit); ok {
					return p, nil
				}
			}
		}
	}
	return PlanMSM(n, scratchLimit, G1)
}

// affineWithin is p with affine additions in runs of up to maxRun pairs, and
// whether that is worth it and fits the limit.
func (p MSM) affineWithin(maxRun uint32, scratchLimit uint64) (MSM, bool) {
	without := p.ScratchBytes()
	if p.pairs() >= maxPairs || p.pairs() < max(minAffine*affineThreads, minAffinePairs*p.buckets()) {
		return p, false
	}
	p = p.Affine(affineRun(p.pairs(), maxRun))
	bytes := p.ScratchBytes()
	return p, bytes <= scratchLimit && (maxRun <= longAffineRun || bytes <= without)
}

// affineRun is the length of runs of which every thread takes equally many.
func affineRun(pairs uint64, maxRun uint32) uint32 {
	runsEach := uint64(blocks(pairs, uint64(maxRun)*affineThreads))
	return blocks(pairs, runsEach*affineThreads)
}

// Affine is the plan with affine additions in runs of so many pairs, whatever the
// plan's size. It needs other scratch, and has one group, G1.
func (p MSM) Affine(run uint32) MSM {
	p.run, p.affineAdditions = run, true
	p.merge = mergeRun(p.runs())
	return p
}

// AffineRun is the number of pairs that a thread adds up in affine coordinates, 0
// if the plan has no affine additions.
func (p MSM) AffineRun() uint32 {
	if !p.affineAdditions {
		return 0
	}
	return p.run
}

func (p MSM) affineGrid() uint32 {
	return min(blocks(uint64(p.runs()), uint64(kernelAccumulateAffine.Threads)), affineBlocks)
}

// columnBytes is the memory of the columns: twin of AffineRun::quads.
func (p MSM) columnBytes() uint64 {
	if !p.affineAdditions {
		return 0
	}
	nodes := uint64(p.run - p.run/3)
	quads := uint64(p.run/2)*(FpBytes/quadBytes) + 2*nodes*(FpBytes/quadBytes) + (nodes+3)/4
	return uint64(p.affineGrid()) * uint64(kernelAccumulateAffine.Threads) * quads * quadBytes
}

// accumulateAffine launches the affine kernel instead of kernelAccumulate.
func (p MSM) accumulateAffine(args accumulateArgs, s msmScratch, access []driver.Range) []Call {
	return []Call{
		Fill(s.nextRun, 1, 0),
		gridCall(kernelAccumulateAffine, p.affineGrid(), 1, accumulateAffineArgs{to: args, columns: s.columns.Addr, next: s.nextRun.Addr},
			append(access, updates(s.nextRun, WordBytes), updates(s.columns, p.columnBytes()))...),
	}
}
