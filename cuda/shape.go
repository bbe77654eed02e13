package cuda

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/libcuzk/libcuzk/cuda/launch"
	"github.com/libcuzk/libcuzk/engine/groth16"
	"github.com/libcuzk/libcuzk/engine/srs"
	"github.com/libcuzk/libcuzk/engine/vram"
)

// The blocks of a job, in the order of its claim.
const (
	blockA = iota // values of the A form, then h
	blockB
	blockC
	blockWitness // classes, dense list, densities, results
	blockScratch // of the kernels, one after the other
	blockCount
)

// sectionStatusBytes is the room for one section's decode status.
const sectionStatusBytes = launch.Align

// allSections are the sections of a parameter set, in file order.
var allSections = [...]srs.Section{srs.SectionH, srs.SectionL, srs.SectionA, srs.SectionBG1, srs.SectionBG2}

// shape is what the counts of a parameter set say about the jobs that use it.
type shape struct {
	counts  groth16.Counts
	logSize uint32 // of the domain; for one h point, of the larger of two
	inputs  uint32
	aux     uint32
}

func shapeOf(c groth16.Counts) shape {
	// h has m-1 points, or m.
	m := uint(c.H)
	if bits.OnesCount(m+1) == 1 {
		m++
	}
	return shape{counts: c, logSize: uint32(bits.Len(m - 1)), inputs: uint32(c.IC), aux: uint32(c.L)}
}

// group is the group of a section's points.
func group(s srs.Section) launch.Group {
	if s == srs.SectionBG2 {
		return launch.G2
	}
	return launch.G1
}

// count is the number of a section's points in the file.
func (s shape) count(of srs.Section) uint32 {
	return uint32([...]int{s.counts.H, s.counts.L, s.counts.A, s.counts.BG1, s.counts.BG2}[of])
}

// slots is the number of a section's points on the card: those of h are padded
// to the domain, and lie in bit-reversed order as the coefficients do.
func (s shape) slots(of srs.Section) uint32 {
	if of == srs.SectionH {
		return 1 << s.logSize
	}
	return s.count(of)
}

// sections says where the sections lie in the set's block, and how large it is.
func (s shape) sections(base uint64) (at [len(allSections)]launch.Range, bytes uint64) {
	p := packing{base: base}
	for i, of := range allSections {
		at[i] = p.take(uint64(s.slots(of)) * group(of).AffineBytes())
	}
	return at, p.used
}

// packing hands out aligned parts of a block.
type packing struct{ base, used uint64 }

func (p *packing) take(bytes uint64) launch.Range {
	r := launch.Range{Addr: p.base + p.used, Bytes: bytes}
	p.used += (bytes + launch.Align - 1) / launch.Align * launch.Align
	return r
}

// witnessLayout is where a job's parts lie in its witness block.
type witnessLayout struct {
	status    launch.Range                   // decode status of each section, if the job loads the set
	ones      launch.Range                   // bitmap of the aux variables that are one
	values    launch.Range                   // the list: inputs first, then dense aux values
	indices   launch.Range                   // of the list's aux entries
	positions [len(allSections)]launch.Range // of the list's entries in each section but h
	aAux      launch.Density
	bAux      launch.Density
	bInputs   launch.Density
	results   launch.Range // first a word: the least row out of range
	bytes     uint64
}

// maxResultBytes bounds the results of one round: a sum for each window of
// four MSMs, windows having 4 bits at least, and four sums over ones; the
// first round has h besides.
const maxResultBytes = badBytes + 64*(4*192+384) + 3*192 + 384

// layout lays the witness block out for a list of so many aux entries.
func (s shape) layout(base uint64, capacity uint32) witnessLayout {
	p := packing{base: base}
	density := func(n uint32) launch.Density {
		return launch.Density{N: n, Bitmap: p.take(launch.BitmapBytes(n)), Ranks: p.take(launch.RanksBytes(n))}
	}
	w := witnessLayout{
		status:  p.take(uint64(len(allSections)) * sectionStatusBytes),
		ones:    p.take(launch.BitmapBytes(s.aux)),
		values:  p.take(uint64(s.inputs+capacity) * launch.FrBytes),
		indices: p.take(uint64(capacity) * launch.WordBytes),
		aAux:    density(s.aux),
		bAux:    density(s.aux),
		bInputs: density(s.inputs),
		results: p.take(maxResultBytes),
	}
	for _, of := range branches {
		w.positions[of] = p.take(uint64(s.inputs+capacity) * launch.WordBytes)
	}
	w.bytes = p.used
	return w
}

// branches are the sections whose sums are computed beside the quotient's,
// each on a stream of its own.
var branches = [...]srs.Section{srs.SectionL, srs.SectionA, srs.SectionBG1, srs.SectionBG2}

// plan is how a job of a shape is run within a budget.
type plan struct {
	shape
	capacity uint32                    // aux entries of the dense list
	scratch  [len(allSections)]scratch // by section: what runs at a time has its own
}

// scratch is the working memory of a section's kernels.
type scratch struct{ offset, bytes uint64 }

const (
	// planAttempts bounds how often a plan is halved to fit: to 1/2048.
	planAttempts = 12

	// listShare of the aux variables, 1/8, have room in the list at first, and
	// listMost of them if that is more. In a PoRep 1.6 % are dense; a circuit
	// with more goes in rounds.
	listShare = 8
	listMost  = 1 << 20

	// listLeast is the least list that is worth a round.
	listLeast = 1024
)

// planFor chooses the largest list and scratch with which the job fits beside
// its set and the inputs of the next job, which are staged while it computes;
// rows need no room twice, because they are handed on early. If that is too
// much it does without the next job. If the job alone does not fit, the error
// of the smallest plan says what is missing.
func planFor(s shape, set *vram.Set, options Options, check func(vram.Need) error) (plan, error) {
	var failed error
	for _, jobs := range []int{2, 1} {
		for attempt := range planAttempts {
			p := plan{shape: s, capacity: s.listFor(attempt, options)}
			if err := p.divideScratch(attempt); err != nil {
				if failed == nil {
					failed = err
				}
				break
			}
			need := p.need(set)
			for range jobs - 1 {
				need.Resident = append(need.Resident, need.Resident[blockWitness])
			}
			err := check(need)
			if err == nil {
				return p, nil
			}
			failed = err
		}
	}
	return plan{}, failed
}

// listFor is the list's capacity, halved shift times.
func (s shape) listFor(shift int, options Options) uint32 {
	if options.ListScalars > 0 {
		return min(s.aux, uint32(options.ListScalars))
	}
	return min(s.aux, max(max(s.aux/listShare, listMost)>>shift, listLeast))
}

// mostScalars is the largest MSM over a section: of the coefficients of h, or
// of the list.
func (p plan) mostScalars(of srs.Section) uint32 {
	if of == srs.SectionH {
		return 1 << p.logSize
	}
	return p.inputs + p.capacity
}

// divideScratch gives every section what its MSM needs to work on all windows
// at a time, divided by 2^shift, and no less than its other kernels need.
func (p *plan) divideScratch(shift int) error {
	parts := packing{}
	for i, of := range allSections {
		// Ranks are computed in h's, before anything else.
		least := max(launch.OnesScratchBytes(group(of)), launch.RankScratchBytes(p.aux), launch.RankScratchBytes(p.inputs))
		full, err := launch.PlanMSM(p.mostScalars(of), math.MaxInt64, group(of))
		if err != nil {
			return fmt.Errorf("cuda: scratch: %w", err)
		}
		part := parts.take(max(full.ScratchBytes()>>shift, least))
		p.scratch[i] = scratch{part.Addr, part.Bytes}
		if _, err := p.msm(of, p.mostScalars(of)); err != nil {
			return err
		}
	}
	return nil
}

// msm plans an MSM of n scalars over a section, within its scratch.
func (p plan) msm(of srs.Section, n uint32) (launch.MSM, error) {
	m, err := launch.PlanMSM(n, p.scratch[of].bytes, group(of))
	if err != nil {
		return m, fmt.Errorf("cuda: scratch of section %s: %w", of, err)
	}
	return m, nil
}

// scratchBytes is the size of the scratch block.
func (p plan) scratchBytes() uint64 {
	last := p.scratch[len(p.scratch)-1]
	return last.offset + last.bytes
}

// When blocks are handed on, the earliest first: vram.Request.Late.
const (
	afterProduct     = iota // the rows of b
	afterSubtraction        // of c
	afterSort               // h, which lies where a's were, once its last windows are sorted
	atEnd
)

// need is what a job claims. For a domain of m, i inputs, x aux variables of
// which `list` fit the dense list, in bytes, each part rounded up to 256:
//
//	a, b, c   32 m each                                a row is a scalar
//	witness   4 ceil(x / 32)                           bitmap of the ones
//	          36 list + 32 i                           values and indices
//	          4 * 4 (i + list)                         positions in l, a, b of G1 and G2
//	          3 of 4 (ceil(n / 32) + ceil(n / 1024) + 1)  densities and ranks; n = x, x, i
//	          5 * 256 + maxResultBytes                 decode status, results
//	scratch   for each of the five sums the larger of
//	          MSM.ScratchBytes / 2^shift               at least a window of the least plan
//	          2112 points                              OnesScratchBytes
//	          4 ceil(x / 1024), and its scan           RankScratchBytes
//
// Sources: the layouts that the kernels' argument structs name, sized by package
// launch. The parameter set beside it is 96 (m + |l| + |a| + |b|) + 192 |b|.
func (p plan) need(set *vram.Set) vram.Need {
	rows := launch.FrBytes << p.logSize
	return vram.Need{
		Resident: []vram.Request{
			blockA:       {Bytes: uint64(rows), Late: afterSort},
			blockB:       {Bytes: uint64(rows), Late: afterProduct},
			blockC:       {Bytes: uint64(rows), Late: afterSubtraction},
			blockWitness: {Bytes: p.layout(0, p.capacity).bytes, Exact: true, Late: atEnd},
			blockScratch: {Bytes: p.scratchBytes(), Exact: true, Late: atEnd},
		},
		Set: set,
	}
}
