package synth

import (
	"math/big"
	"sync"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/libcuzk/libcuzk/engine/groth16"
)

// Circuit is a constraint system with a witness. It may be used from many
// goroutines.
type Circuit struct {
	shape Shape
	seed  uint64

	assignment groth16.Assignment
	columns    columns
	pivot      pivot

	evaluated sync.Once // guards evaluation
	evaluation
}

// pivot is what brings the B forms to their drawn values: the members of one
// column, or an input.
type pivot struct {
	input  int        // -1: not an input
	column int        // -1: not a column of aux
	weight fr.Element // sum of the members' values; not 0, unless there is no pivot
}

// New draws a circuit. The same shape and seed give the same circuit on every
// machine. Fails with ErrShape.
func New(shape Shape, seed uint64) (*Circuit, error) {
	if err := shape.validate(); err != nil {
		return nil, err
	}
	c := &Circuit{shape: shape, seed: seed}
	c.columns = newColumns(&c.shape)
	c.drawInputs()
	c.drawAux()
	c.drawDensities()
	c.findPivot()
	c.drawRows()
	return c, nil
}

// Shape is what the circuit was made from.
func (c *Circuit) Shape() Shape { return c.shape }

// Assignment is the witness as a prover takes it; read-only.
func (c *Circuit) Assignment() *groth16.Assignment { return &c.assignment }

// C is the value of the C form on every row: a·b, one more on a spoilt row.
func (c *Circuit) C() []fr.Element {
	out := make([]fr.Element, c.shape.Rows)
	inChunks(len(out), func(start, end int) {
		for i := start; i < end; i++ {
			out[i].Mul(&c.assignment.A[i], &c.assignment.B[i])
		}
	})
	if c.shape.Spoil {
		one := fr.One()
		out[c.shape.SpoilRow].Add(&out[c.shape.SpoilRow], &one)
	}
	return out
}

// Blinding is an r and s drawn from the seed.
func (c *Circuit) Blinding() (r, s fr.Element) {
	blinding := c.stream(streamBlinding)
	return blinding.scalar(0), blinding.scalar(1)
}

func (c *Circuit) stream(name uint64) stream { return newStream(c.seed, name) }

func (c *Circuit) drawInputs() {
	inputs, draw := make([]fr.Element, c.shape.Inputs), c.stream(streamInputs)
	shares := Shares{Zero: 1. / 8, One: 1. / 8}
	for i := range inputs {
		inputs[i] = draw.value(i, shares)
	}
	inputs[0].SetOne()
	c.assignment.Inputs = inputs
}

func (c *Circuit) drawAux() {
	aux, draw, signs := make([]fr.Element, c.shape.Aux), c.stream(streamAux), c.stream(streamSigns)
	inB := c.stream(streamDensityB)
	inChunks(len(aux), func(start, end int) {
		for j := start; j < end; j++ {
			column, shares := c.columns.of(j), c.shape.Values
			if inB.fraction(column) < c.shape.BAux {
				shares = c.shape.ValuesInB
			}
			aux[j] = draw.value(column, shares)
			if j < c.columns.duplicates && !aux[j].IsUint64() && signs.word(j, 0)&1 == 1 {
				aux[j].Neg(&aux[j])
			}
		}
	})
	c.assignment.Aux = aux
	c.columns.weigh(aux)
}

func (c *Circuit) drawDensities() {
	a, b, bInputs := c.stream(streamDensityA), c.stream(streamDensityB), c.stream(streamDensityBInputs)
	c.assignment.AAux = newDensity(c.shape.Aux, func(j int) bool { return a.fraction(c.columns.of(j)) < c.shape.AAux })
	c.assignment.BAux = newDensity(c.shape.Aux, func(j int) bool { return b.fraction(c.columns.of(j)) < c.shape.BAux })
	c.assignment.BInputs = newDensity(c.shape.Inputs, func(i int) bool {
		switch {
		case c.shape.constraints() == 0:
			return false
		case i == 0:
			return c.shape.BOne
		default:
			return bInputs.fraction(i) < c.shape.BInputs
		}
	})
}

// findPivot takes the one, another input, or a column of aux.
func (c *Circuit) findPivot() {
	for i := range c.assignment.Inputs {
		if value := c.assignment.Inputs[i]; c.assignment.BInputs.Has(i) && !value.IsZero() {
			c.pivot = pivot{input: i, column: -1, weight: value}
			return
		}
	}
	for j := range c.assignment.Aux {
		if !c.assignment.BAux.Has(j) {
			continue
		}
		if weight := c.columns.weight(c.assignment.Aux, j); !weight.IsZero() {
			c.pivot = pivot{input: -1, column: c.columns.of(j), weight: weight}
			return
		}
	}
	c.pivot = pivot{input: -1, column: -1}
}

func (c *Circuit) drawRows() {
	rows, constraints := c.shape.Rows, c.shape.constraints()
	a, b := make([]fr.Element, rows), make([]fr.Element, rows)
	drawA, drawB := c.stream(streamRowsA), c.stream(streamRowsB)
	inChunks(constraints, func(start, end int) {
		for i := start; i < end; i++ {
			a[i] = drawA.value(i, c.shape.RowsA)
			if !c.pivot.weight.IsZero() {
				b[i] = drawB.value(i, c.shape.RowsB)
			}
		}
	})
	// The pivot's coefficient in row 0 is then not 0, so that it occurs.
	if constraints > 0 && !c.pivot.weight.IsZero() {
		b[0] = drawB.scalar(0)
	}
	copy(a[constraints:], c.assignment.Inputs)
	c.assignment.A, c.assignment.B = a, b
}

// value draws a value by shares.
func (s stream) value(i int, shares Shares) (z fr.Element) {
	switch at := s.fraction(i); {
	case at < shares.Zero:
		return z
	case at < shares.Zero+shares.One:
		return fr.One()
	case at < shares.sum():
		const smallest, count = 2, 1<<16 - 2
		return *z.SetUint64(smallest + s.word(i, 1)%count)
	}
	const edgeEvery = 8
	if pick := s.word(i, 0); pick%edgeEvery == 0 {
		return edges[pick/edgeEvery%uint64(len(edges))]
	}
	return s.scalar(i)
}

// edges are dense values at the edges of digits, limbs and the scalar range.
var edges = func() (out []fr.Element) {
	var half fr.Element
	half.SetUint64(2).Inverse(&half) // (r+1)/2
	for _, step := range []int64{0, -1} {
		var z fr.Element
		out = append(out, *z.SetInt64(step).Add(&z, &half))
	}
	for _, negative := range []int64{-1, -2, -1 << 16} {
		var z fr.Element
		out = append(out, *z.SetInt64(negative))
	}
	for _, power := range []uint{64, 128, 192, 254} {
		var z fr.Element
		power := new(big.Int).Lsh(big.NewInt(1), power)
		out = append(out, *z.SetBigInt(power))
		out = append(out, *z.SetBigInt(power.Sub(power, big.NewInt(1))))
	}
	return out
}()

// newDensity asks has for every variable, on all cores.
func newDensity(length int, has func(int) bool) groth16.Density {
	d := groth16.Density{Words: make([]uint64, (length+63)/64), Len: length}
	var mu sync.Mutex
	inChunks(len(d.Words), func(start, end int) {
		set := 0
		for i := 64 * start; i < min(64*end, length); i++ {
			if has(i) {
				d.Words[i/64] |= 1 << (i % 64)
				set++
			}
		}
		mu.Lock()
		d.Popcount += set
		mu.Unlock()
	})
	return d
}
