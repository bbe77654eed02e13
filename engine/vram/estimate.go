package vram

import "fmt"

// Sizes of what lies in VRAM, in bytes. Source: blst's layouts, which the
// kernels share (Fr 4, Fp 6 limbs of 8 bytes; G2 over Fp2).
const (
	scalarBytes = 32
	fieldBytes  = 48
	G1Bytes     = 2 * fieldBytes // affine x, y
	G2Bytes     = 2 * G1Bytes
	indexBytes  = 4
	pairBytes   = 2 * indexBytes // (bucket, point)
	countBytes  = 4
)

// scalarBits is the length of a scalar and of the carry that signed windows
// push out of its top one.
const scalarBits = 255 + 1

// Shape is what a partition's memory depends on.
type Shape struct {
	M       uint64 // domain size, a power of two
	Inputs  uint64
	Aux     uint64
	AAux    uint64 // popcounts of the densities
	BInputs uint64
	BAux    uint64
}

// MSM is how the kernels compute one sum: the choices that decide how much
// scratch it takes.
type MSM struct {
	Name       string
	Points     uint64 // sorted and added at a time: a tile, or all
	PointBytes uint64 // G1Bytes or G2Bytes
	WindowBits uint64 // signed windows, so 2^(WindowBits-1) buckets each
	// SortWindows is how many windows' pairs are sorted at a time.
	SortWindows uint64
	// BucketBytes is one bucket: PointBytes if affine, twice that in XYZZ.
	BucketBytes uint64
	// BucketWindows is how many windows' buckets live at a time: all of them
	// if the points come in tiles, else those that are worked on.
	BucketWindows uint64
	// AffineWindows is how many windows are reduced at a time by batched
	// affine additions; 0 if the kernels add into XYZZ buckets.
	AffineWindows uint64
}

// Windows is how many windows of w bits a signed scalar has.
func Windows(w uint64) uint64 { return (scalarBits + w - 1) / w }

// Kernels is what a device's kernels choose for a shape and a tier.
type Kernels struct {
	// ClassBits is what staging sends of each scalar: its class.
	ClassBits uint64
	// DenseCap is how many scalars other than 0 and 1 fit the list that is
	// sent with the classes; a witness with more goes in rounds.
	DenseCap uint64
	// Sums are the MSMs, one after the other in the same scratch.
	Sums []MSM
	// TileSlots is how many tiles of points are in VRAM at a time when the
	// parameter set is streamed.
	TileSlots uint64
	// Extra is scratch that all phases need beside the above, in bytes:
	// results, totals of blocks.
	Extra uint64
}

// Term is one part of a job's memory.
type Term struct {
	Name    string
	Formula string
	Bytes   uint64
}

// Estimate is the memory of one job, block by block.
type Estimate struct {
	// Rows is each of the three blocks for a, b and c.
	Rows Term
	// Classes is what staging makes of the assignment.
	Classes []Term
	// Tiles are the pieces of the parameter set in the streaming tier.
	Tiles []Term
	// Phases are the MSMs; they use the same scratch one after the other.
	Phases [][]Term
	// Extra is scratch beside the phases.
	Extra Term
}

// The places of a job's blocks in Estimate.Requests. BlockTiles is there in
// the streaming tier only.
const (
	BlockA = iota
	BlockB
	BlockC
	BlockClasses
	BlockScratch
	BlockTiles
)

// Estimate computes the memory of a job of shape s with kernels k, streaming its
// parameter set or not.
func (s Shape) Estimate(k Kernels, streaming bool) Estimate {
	vars := s.Inputs + s.Aux
	e := Estimate{
		Rows: Term{"rows", "32 m, three times", scalarBytes * s.M},
		Classes: []Term{
			{"classes", fmt.Sprintf("%d bits a scalar, inputs + aux", k.ClassBits), (k.ClassBits*vars + 7) / 8},
			{"dense list", "(4 + 32) cap", (indexBytes + scalarBytes) * min(k.DenseCap, vars)},
			{"densities", "1 bit a variable: a_aux, b_inp, b_aux", 2*((s.Aux+7)/8) + (s.Inputs+7)/8},
		},
		Extra: Term{"extra", "given by the kernels", k.Extra},
	}
	for _, m := range k.Sums {
		e.Phases = append(e.Phases, m.terms())
		if streaming {
			e.Tiles = append(e.Tiles, Term{m.Name + " tiles", "slots * points * point", k.TileSlots * m.Points * m.PointBytes})
		}
	}
	return e
}

// terms are the scratch of one MSM.
//
// Source: signed-digit Pippenger; pairs sorted by counting into a second
// buffer; batched affine additions as a pairwise tree, with one field element
// of prefix products a pair and two levels of sums alive at a time.
func (m MSM) terms() []Term {
	buckets := uint64(1) << (m.WindowBits - 1)
	pairs := m.AffineWindows * (m.Points / 2)
	return []Term{
		{m.Name + " pairs", "2 buffers * windows * points * 8", 2 * m.SortWindows * m.Points * pairBytes},
		{m.Name + " counts", "windows * (2^(w-1) + 1) * 4", m.SortWindows * (buckets + 1) * countBytes},
		{m.Name + " buckets", "windows * 2^(w-1) * bucket", m.BucketWindows * buckets * m.BucketBytes},
		{m.Name + " prefix products", "windows * points/2 * point/2", pairs * m.PointBytes / 2},
		{m.Name + " sums", "windows * (points/2 + points/4) * point", pairs*m.PointBytes + pairs/2*m.PointBytes},
	}
}

// Scratch is the largest phase, with what all of them need.
func (e Estimate) Scratch() uint64 {
	var most uint64
	for _, p := range e.Phases {
		most = max(most, sum(p))
	}
	return most + e.Extra.Bytes
}

// Requests are the blocks to claim, in the order of the Block constants.
func (e Estimate) Requests() []Request {
	// b is handed on after the product, c after the subtraction, classes after
	// the sums; what becomes h is used to the end.
	const afterProduct, afterSubtraction, afterSums, atEnd = 0, 1, 2, 3
	r := []Request{
		BlockA:       {Bytes: e.Rows.Bytes, Late: atEnd},
		BlockB:       {Bytes: e.Rows.Bytes, Late: afterProduct},
		BlockC:       {Bytes: e.Rows.Bytes, Late: afterSubtraction},
		BlockClasses: {Bytes: max(1, sum(e.Classes)), Exact: true, Late: afterSums},
		BlockScratch: {Bytes: max(1, e.Scratch()), Exact: true, Late: atEnd},
	}
	if len(e.Tiles) > 0 {
		var most uint64
		for _, t := range e.Tiles {
			most = max(most, t.Bytes)
		}
		r = append(r, Request{Bytes: max(1, most), Exact: true, Late: atEnd})
	}
	return r
}

// Peak is what the job takes of a budget, beside its parameter set.
func (e Estimate) Peak() uint64 { return Peak(e.Requests(), 0) }

// PeakOfTwo is what two jobs take that overlap as they do on a small card:
// the second has its own classes, and all else behind the first.
func (e Estimate) PeakOfTwo() uint64 {
	r := e.Requests()
	return Peak(append(r, r[BlockClasses]), 0)
}

func sum(terms []Term) uint64 {
	var n uint64
	for _, t := range terms {
		n += t.Bytes
	}
	return n
}
