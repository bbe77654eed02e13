package plan

import (
	"math/bits"

	"github.com/libcuzk/libcuzk/engine/groth16"
	"github.com/libcuzk/libcuzk/engine/srs"
	"github.com/libcuzk/libcuzk/internal/launch"
)

// The blocks of a job, in the order of its claim.
const (
	BlockA = iota // values of the A form, then h
	BlockB
	BlockC
	BlockWitness // classes, dense list, densities, results
	BlockScratch // of the kernels, one after the other
	BlockTiles   // two places for points of h; only of a job that streams its set
)

// SectionStatusBytes is the room for one section's decode status.
const SectionStatusBytes = launch.Align

// AllSections are the sections of a parameter set, in file order.
var AllSections = [...]srs.Section{srs.SectionH, srs.SectionL, srs.SectionA, srs.SectionBG1, srs.SectionBG2}

// Shape is what the counts of a parameter set say about the jobs that use it.
type Shape struct {
	counts  groth16.Counts
	LogSize uint32 // of the domain; for one h point, of the larger of two
	Inputs  uint32
	Aux     uint32
}

func ShapeOf(c groth16.Counts) Shape {
	// h has m-1 points, or m.
	m := uint(c.H)
	if bits.OnesCount(m+1) == 1 {
		m++
	}
	return Shape{counts: c, LogSize: uint32(bits.Len(m - 1)), Inputs: uint32(c.IC), Aux: uint32(c.L)}
}

// GroupOf is the group of a section's points.
func GroupOf(s srs.Section) launch.Group {
	if s == srs.SectionBG2 {
		return launch.G2
	}
	return launch.G1
}

// Count is the number of a section's points in the file.
func (s Shape) Count(of srs.Section) uint32 {
	return uint32(of.Count(s.counts))
}

// Slots is the number of a section's points on the device: those of h are padded
// to the domain, and lie in bit-reversed order as the coefficients do.
func (s Shape) Slots(of srs.Section) uint32 {
	if of == srs.SectionH {
		return 1 << s.LogSize
	}
	return s.Count(of)
}

// Sections says where the sections lie in the set's block, and how large it is.
func (s Shape) Sections(base uint64) (at [len(AllSections)]launch.Range, bytes uint64) {
	p := packing{base: base}
	for i, of := range AllSections {
		at[i] = p.take(uint64(s.Slots(of)) * GroupOf(of).AffineBytes())
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

// Witness is where a job's parts lie in its witness block.
type Witness struct {
	Ones      launch.Range                   // bitmap of the aux variables that are one
	Values    launch.Range                   // the list: inputs first, then dense aux values
	Indices   launch.Range                   // of the list's aux entries
	Positions [len(AllSections)]launch.Range // of the list's entries in each section but h
	AAux      launch.Density
	BAux      launch.Density
	BInputs   launch.Density
	Results   launch.Range // first a word: the least row out of range
	bytes     uint64
}

// BadBytes is the room of the least row out of range, the first result. All
// results are multiples of it, so that points stay aligned without gaps.
const BadBytes = 16

// MaxResultBytes bounds the results of one round: a sum for each window of
// four MSMs, windows having 4 bits at least, and four sums over ones; the
// first round has h besides.
const MaxResultBytes = BadBytes + 64*(4*192+384) + 3*192 + 384

// Layout lays the witness block out for a list of so many aux entries.
func (s Shape) Layout(base uint64, capacity uint32) Witness {
	p := packing{base: base}
	density := func(n uint32) launch.Density {
		return launch.Density{N: n, Bitmap: p.take(launch.BitmapBytes(n)), Ranks: p.take(launch.RanksBytes(n))}
	}
	w := Witness{
		Ones:    p.take(launch.BitmapBytes(s.Aux)),
		Values:  p.take(uint64(s.Inputs+capacity) * launch.FrBytes),
		Indices: p.take(uint64(capacity) * launch.WordBytes),
		AAux:    density(s.Aux),
		BAux:    density(s.Aux),
		BInputs: density(s.Inputs),
		Results: p.take(MaxResultBytes),
	}
	for _, of := range Branches {
		w.Positions[of] = p.take(uint64(s.Inputs+capacity) * launch.WordBytes)
	}
	w.bytes = p.used
	return w
}

// Branches are the sections whose sums are computed beside the quotient's,
// each on a stream of its own.
var Branches = [...]srs.Section{srs.SectionL, srs.SectionA, srs.SectionBG1, srs.SectionBG2}
