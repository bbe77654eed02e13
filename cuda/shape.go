package cuda

import (
	"math/bits"

	"github.com/libcuzk/libcuzk/engine/groth16"
	"github.com/libcuzk/libcuzk/engine/srs"
	"github.com/libcuzk/libcuzk/internal/launch"
)

// The blocks of a job, in the order of its claim.
const (
	blockA = iota // values of the A form, then h
	blockB
	blockC
	blockWitness // classes, dense list, densities, results
	blockScratch // of the kernels, one after the other
	blockTiles   // two places for points of h; only of a job that streams its set
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

// badBytes is the room of the least row out of range, the first result. All
// results are multiples of it, so that points stay aligned without gaps.
const badBytes = 16

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
