package synth

import (
	"math/big"
	"math/bits"
	"sync"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/libcuzk/libcuzk/engine/groth16"
)

var bigOne = big.NewInt(1)

// evaluator evaluates the columns of a circuit: u, v and w of every variable
// at τ. Those of the one (u, w and, as pivot, v) and of the pivot (v) come last
// and follow from the rest.
type evaluator struct {
	c        *Circuit
	t        *trapdoor
	e        *Exponents
	lagrange []fr.Element // [rows]
	rows     *evaluation  // values of the witness's polynomials

	u, v, w []fr.Element // [inputs] columns of the inputs

	mu sync.Mutex
	// Σ value·column over all variables but the one and the pivot.
	sumU, sumV, sumW fr.Element // guarded by mu
}

func (ev *evaluator) columns() {
	c, e := ev.c, ev.e
	inputs, a := c.shape.Inputs, &c.assignment
	ev.u, ev.v, ev.w = make([]fr.Element, inputs), make([]fr.Element, inputs), make([]fr.Element, inputs)
	e.L = make([]fr.Element, c.shape.Aux)
	e.A = make([]fr.Element, inputs+a.AAux.Popcount)
	e.B = make([]fr.Element, a.BInputs.Popcount+a.BAux.Popcount)

	ev.inputColumns()
	ev.auxColumns()
	ev.columnsOfOne()
	ev.columnOfPivot()
	ev.writeInputs()
}

// inputColumns: an input occurs in the A form of its own row, and those of the
// density in one B form.
func (ev *evaluator) inputColumns() {
	c := ev.c
	constraints := c.shape.constraints()
	copy(ev.u, ev.lagrange[constraints:])
	for i := 1; i < len(ev.u); i++ {
		addProduct(&ev.sumU, &c.assignment.Inputs[i], &ev.u[i])
	}
	if constraints == 0 {
		return
	}
	_, b, _ := c.forms()
	b.second = -1
	for i, value := range c.assignment.Inputs {
		if c.assignment.BInputs.Has(i) && i != c.pivot.input {
			// Numbered after the columns of aux, of which there are at most Aux.
			ev.v[i] = b.at(c.shape.Aux+i, ev.lagrange)
			addProduct(&ev.sumV, &value, &ev.v[i])
		}
	}
}

// auxColumns writes l, and a and b for aux, in chunks. The place of a variable
// in a and b is its rank in the density.
func (ev *evaluator) auxColumns() {
	c := ev.c
	ranksA, ranksB := chunkRanks(c.assignment.AAux), chunkRanks(c.assignment.BAux)
	inChunks(c.shape.Aux, func(start, end int) {
		placeA := c.shape.Inputs + ranksA[start/chunk]
		placeB := c.assignment.BInputs.Popcount + ranksB[start/chunk]
		ev.auxChunk(start, end, ev.e.A[placeA:], ev.e.B[placeB:])
	})
}

func (ev *evaluator) auxChunk(start, end int, outA, outB []fr.Element) {
	c, aux := ev.c, ev.c.assignment.Aux
	formA, formB, formC := c.forms()
	drawInC := c.stream(streamInC)
	var sumU, sumV, sumW fr.Element
	for j := start; j < end; j++ {
		column := c.columns.of(j)
		inA, inB := c.assignment.AAux.Has(j), c.assignment.BAux.Has(j)
		var u, v, w fr.Element
		if inA {
			u = formA.at(column, ev.lagrange)
			outA[0], outA = u, outA[1:]
			addProduct(&sumU, &aux[j], &u)
		}
		if inB {
			if column != c.pivot.column {
				v = formB.at(column, ev.lagrange)
				addProduct(&sumV, &aux[j], &v)
			}
			outB[0], outB = v, outB[1:]
		}
		if c.inC(drawInC, column, inA, inB) {
			w = formC.at(column, ev.lagrange)
			addProduct(&sumW, &aux[j], &w)
		}
		ev.e.L[j] = ev.t.combine(&u, &v, &w, &ev.t.deltaInverse)
	}
	ev.mu.Lock()
	defer ev.mu.Unlock()
	ev.sumU.Add(&ev.sumU, &sumU)
	ev.sumV.Add(&ev.sumV, &sumV)
	ev.sumW.Add(&ev.sumW, &sumW)
}

// columnsOfOne: the one brings every A form to a and every C form to a·b. Its
// own value is 1, so its column is what the others leave.
func (ev *evaluator) columnsOfOne() {
	ev.u[0].Sub(&ev.rows.a, &ev.sumU)
	ev.w[0].Sub(&ev.rows.ab, &ev.sumW)
	if c := ev.c; c.shape.Spoil {
		ev.w[0].Add(&ev.w[0], &ev.lagrange[c.shape.SpoilRow])
	}
}

// columnOfPivot: the pivot brings every B form to b.
func (ev *evaluator) columnOfPivot() {
	c, pivot := ev.c, &ev.c.pivot
	if pivot.weight.IsZero() {
		return
	}
	var v fr.Element
	v.Sub(&ev.rows.b, &ev.sumV)
	v.Div(&v, &pivot.weight)
	if pivot.input >= 0 {
		ev.v[pivot.input] = v
		return
	}
	var zero fr.Element
	inL := ev.t.combine(&zero, &v, &zero, &ev.t.deltaInverse)
	c.columns.members(pivot.column, func(j int) {
		ev.e.B[c.assignment.BInputs.Popcount+rank(c.assignment.BAux, j)] = v
		ev.e.L[j].Add(&ev.e.L[j], &inL)
	})
}

// writeInputs writes ic, and a and b for the inputs.
func (ev *evaluator) writeInputs() {
	ev.e.IC = make([]fr.Element, len(ev.u))
	place := 0
	for i := range ev.u {
		ev.e.A[i] = ev.u[i]
		if ev.c.assignment.BInputs.Has(i) {
			ev.e.B[place] = ev.v[i]
			place++
		}
		ev.e.IC[i] = ev.t.combine(&ev.u[i], &ev.v[i], &ev.w[i], &ev.t.gammaInverse)
	}
}

// combine is (β·u + α·v + w)·scale.
func (t *trapdoor) combine(u, v, w, scale *fr.Element) (sum fr.Element) {
	sum.Mul(&t.beta, u)
	addProduct(&sum, &t.alpha, v)
	sum.Add(&sum, w)
	return *sum.Mul(&sum, scale)
}

func addProduct(sum, x, y *fr.Element) {
	var product fr.Element
	sum.Add(sum, product.Mul(x, y))
}

// rank is the number of variables of d before variable j.
func rank(d groth16.Density, j int) int {
	out := 0
	for _, word := range d.Words[:j/64] {
		out += bits.OnesCount64(word)
	}
	return out + bits.OnesCount64(d.Words[j/64]&(1<<(j%64)-1))
}

// chunkRanks is the rank of each chunk's first variable.
func chunkRanks(d groth16.Density) []int {
	out := make([]int, (d.Len+chunk-1)/chunk)
	seen := 0
	for i := range out {
		out[i] = seen
		for _, word := range d.Words[i*chunk/64 : min((i+1)*chunk/64, len(d.Words))] {
			seen += bits.OnesCount64(word)
		}
	}
	return out
}
