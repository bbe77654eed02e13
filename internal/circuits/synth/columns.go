package synth

import (
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
)

// columns groups the aux variables by their coefficients. The first
// `duplicates` variables are dealt out in turn over the first `groups`
// columns; each of the others has a column of its own.
type columns struct {
	duplicates, groups int
	weights            []fr.Element // [groups] sum of the members' values
}

func newColumns(s *Shape) columns {
	duplicates := int(s.Duplicates * float64(s.Aux))
	if duplicates == 0 {
		return columns{}
	}
	return columns{duplicates: duplicates, groups: (duplicates + s.DuplicateGroup - 1) / s.DuplicateGroup}
}

// of is the column of aux variable j.
func (c *columns) of(j int) int {
	if j < c.duplicates {
		return j % c.groups
	}
	return j - c.duplicates + c.groups
}

// members calls visit for the variables of a column.
func (c *columns) members(column int, visit func(j int)) {
	if column >= c.groups {
		visit(column - c.groups + c.duplicates)
		return
	}
	for j := column; j < c.duplicates; j += c.groups {
		visit(j)
	}
}

func (c *columns) weigh(aux []fr.Element) {
	c.weights = make([]fr.Element, c.groups)
	for j := range c.duplicates {
		w := &c.weights[j%c.groups]
		w.Add(w, &aux[j])
	}
}

// weight is the sum of the values in the column of variable j.
func (c *columns) weight(aux []fr.Element, j int) fr.Element {
	if j < c.duplicates {
		return c.weights[j%c.groups]
	}
	return aux[j]
}

// form is where and with what coefficients variables occur in the A, B or C
// forms. The first occurrence of number k is in row k+first, the second in row
// k+second, modulo the number of constraint rows.
type form struct {
	coefficients  stream
	first, second int // second is negative if there is none
	rows          int
}

// newForm spreads the second occurrence a share of the rows away from the
// first. In a system of one row the two would fall together and might cancel,
// which would leave a variable that occurs and yet has no point.
func newForm(coefficients stream, rows, share int) form {
	f := form{coefficients: coefficients, second: -1, rows: rows}
	if rows > 1 {
		f.second = max(1, rows/share)
	}
	return f
}

// visit calls term for each row in which number k occurs.
func (f *form) visit(k int, term func(row int, coefficient fr.Element)) {
	term((k+f.first)%f.rows, f.coefficient(k, 0))
	if f.second >= 0 {
		term((k+f.second)%f.rows, f.coefficient(k, 1))
	}
}

// coefficient is 1 or -1 in three cases out of four, as in real circuits, else
// dense. Never 0.
func (f *form) coefficient(k, occurrence int) fr.Element {
	one := fr.One()
	switch place := 2*k + occurrence; f.coefficients.word(place, 0) % 8 {
	case 0, 1, 2:
		return one
	case 3, 4, 5:
		return *one.Neg(&one)
	default:
		if z := f.coefficients.scalar(place); !z.IsZero() {
			return z
		}
		return one
	}
}

// at is the polynomial of column k at τ: Σ coefficient·L_row(τ).
func (f *form) at(k int, lagrange []fr.Element) (sum fr.Element) {
	f.visit(k, func(row int, coefficient fr.Element) {
		var product fr.Element
		sum.Add(&sum, product.Mul(&coefficient, &lagrange[row]))
	})
	return sum
}

// forms of a circuit. C has no second occurrence.
func (c *Circuit) forms() (a, b, cc form) {
	rows := c.shape.constraints()
	a = newForm(c.stream(streamCoefficientsA), rows, 3)
	b = newForm(c.stream(streamCoefficientsB), rows, 5)
	cc = newForm(c.stream(streamCoefficientsC), rows, 1)
	cc.first, cc.second = rows/7, -1
	return a, b, cc
}

// inC reports whether a column occurs in the C forms: those that occur in
// neither of the others, without which they would have no point in l, and half
// of the rest.
func (c *Circuit) inC(draw stream, column int, inA, inB bool) bool {
	return !inA && !inB || draw.word(column, 0)&1 == 1
}
