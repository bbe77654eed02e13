package launch

import "github.com/libcuzk/libcuzk/cuda/driver"

// Bucket sums by affine additions: kernels/msm/affine.cuh.

const (
	// affineBlocks are as many as a B200 holds at a time, three a multiprocessor of
	// 148 (a card with more gets two or three each); affineThreads are what an H200
	// holds, with 132.
	affineBlocks  = 3 * 148
	affineThreads = 3 * 132 * 128
	// leastAffine is how many pairs a thread of an H200 has, below which the
	// columns are not worth their memory: with 1324, of 2^22 scalars, the sum is 3 %
	// faster and takes 1.8 GiB more, with 4303, of 2^24, 10 % and 2 GiB.
	leastAffine = 4096
	// A thread's run: an inversion takes as long as 40 to 80 products, and a run
	// has about log2 of a bucket's pairs of them. Below leastAffineRun they outweigh
	// what is saved, and so they do with few pairs a bucket. A run longer than
	// longAffineRun is not worth its memory, but if it costs none, being where the
	// sort's entries were.
	leastAffineRun, longAffineRun, mostAffineRun = 128, 512, 1024
	leastAffinePairs                             = 8 // a bucket
	// affineSteps is how many batches of windows are better than short runs; short
	// runs are better than more.
	affineSteps = 4
)

var kernelAccumulateAffine = declare[accumulateAffineArgs]("g1_affine", "cuzk_msm_g1_affine", 128)

type accumulateAffineArgs struct {
	to            accumulateArgs
	columns, next uint64
}

// PlanAffineMSM is PlanMSM of one sum in G1 that has the card for itself: with
// affine additions, if there are pairs enough to fill it and scratch enough for
// the columns.
func PlanAffineMSM(n uint32, scratchLimit uint64) (MSM, error) {
	window := bestWindow(n)
	windows := windowsOf(window)
	for done := uint32(0); done < windows; done += affineSteps {
		for most := uint32(mostAffineRun); most >= leastAffineRun; most /= 2 {
			for steps := done + 1; steps <= min(done+affineSteps, windows); steps++ {
				p := MSM{N: n, Groups: []Group{G1}}.shape(window, windows, blocks(uint64(windows), uint64(steps)))
				if p, ok := p.affineWithin(most, scratchLimit); ok {
					return p, nil
				}
			}
		}
	}
	return PlanMSM(n, scratchLimit, G1)
}

// affineWithin is p with affine additions in runs of up to `most` pairs, and
// whether that is worth it and fits the limit.
func (p MSM) affineWithin(most uint32, scratchLimit uint64) (MSM, bool) {
	without := p.ScratchBytes()
	if p.pairs() >= maxPairs || p.pairs() < max(leastAffine*affineThreads, leastAffinePairs*p.buckets()) {
		return p, false
	}
	p = p.Affine(affineRun(p.pairs(), most))
	bytes := p.ScratchBytes()
	return p, bytes <= scratchLimit && (most <= longAffineRun || bytes <= without)
}

// affineRun divides the pairs into equal rounds of runs on all threads.
func affineRun(pairs uint64, most uint32) uint32 {
	rounds := uint64(blocks(pairs, uint64(most)*affineThreads))
	return blocks(pairs, rounds*affineThreads)
}

// Affine is the plan with affine additions in runs of so many pairs whatever its
// size, which needs other scratch. It has one group, G1.
func (p MSM) Affine(run uint32) MSM {
	p.run, p.affineAdditions = run, true
	p.merge = mergeRun(p.runs())
	return p
}

// AffineRun is how many pairs a thread adds up in affine coordinates, 0 if the
// plan has no such additions.
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

// accumulateAffine is the launch in place of kernelAccumulate's.
func (p MSM) accumulateAffine(args accumulateArgs, s msmScratch, access []driver.Range) []Call {
	return []Call{
		Fill(s.nextRun, 1, 0),
		gridCall(kernelAccumulateAffine, p.affineGrid(), 1, accumulateAffineArgs{to: args, columns: s.columns.Addr, next: s.nextRun.Addr},
			append(access, updates(s.nextRun, WordBytes), updates(s.columns, p.columnBytes()))...),
	}
}
