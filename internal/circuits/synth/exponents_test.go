package synth

import (
	"fmt"
	"math/big"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/engine/groth16"
)

// shapes are small circuits of every kind.
func shapes() map[string]Shape {
	half := Shares{Zero: 0.3, One: 0.3, Small: 0.2}
	mixed := Shape{Rows: 29, Inputs: 5, Aux: 40, AAux: 0.5, BAux: 0.4, BOne: true, BInputs: 0.5,
		Values: half, ValuesInB: half, RowsA: Shares{Zero: 0.4, One: 0.2}, RowsB: Shares{Zero: 0.4, One: 0.5}}
	with := func(change func(*Shape)) Shape { s := mixed; change(&s); return s }
	return map[string]Shape{
		"one row":                            {Rows: 1, Inputs: 1},
		"one row, densities asked for":       {Rows: 1, Inputs: 1, AAux: 1, BAux: 1, BOne: true, BInputs: 1},
		"nothing but inputs":                 {Rows: 7, Inputs: 7, BOne: true, BInputs: 1},
		"one constraint":                     {Rows: 2, Inputs: 1, Aux: 1, AAux: 1, BAux: 1, BOne: true},
		"one constraint, many aux":           {Rows: 4, Inputs: 3, Aux: 70, AAux: 0.5, BAux: 0.5, BOne: true},
		"one constraint, no aux":             {Rows: 3, Inputs: 2, BOne: true, BInputs: 1},
		"mixed":                              mixed,
		"all dense":                          Dense(32, 3),
		"rows a power of two and one":        Dense(33, 3),
		"no density":                         with(func(s *Shape) { s.AAux, s.BAux, s.BOne, s.BInputs = 0, 0, false, 0 }),
		"no aux":                             with(func(s *Shape) { s.Aux = 0 }),
		"all in a, none in b":                with(func(s *Shape) { s.AAux, s.BAux, s.BOne, s.BInputs = 1, 0, false, 0 }),
		"the pivot is an input":              with(func(s *Shape) { s.BOne, s.BInputs = false, 1 }),
		"the pivot is an aux variable":       with(func(s *Shape) { s.BOne, s.BInputs, s.BAux = false, 0, 1 }),
		"the pivot is one of many the same":  with(func(s *Shape) { s.BOne, s.BInputs, s.BAux, s.Duplicates, s.DuplicateGroup = false, 0, 1, 1, 5 }),
		"no pivot: b variables are all zero": with(func(s *Shape) { s.BOne, s.BInputs, s.ValuesInB = false, 0, Shares{Zero: 1} }),
		"every aux zero":                     with(func(s *Shape) { s.Values, s.ValuesInB = Shares{Zero: 1}, Shares{Zero: 1} }),
		"every aux one":                      with(func(s *Shape) { s.Values, s.ValuesInB = Shares{One: 1}, Shares{One: 1} }),
		"every aux small":                    with(func(s *Shape) { s.Values, s.ValuesInB = Shares{Small: 1}, Shares{Small: 1} }),
		"repeated points":                    with(func(s *Shape) { s.Duplicates, s.DuplicateGroup = 0.6, 6 }),
		"one point for all aux":              with(func(s *Shape) { s.Duplicates, s.DuplicateGroup = 1, 1000 }),
		"spoilt in the first row":            with(func(s *Shape) { s.Spoil = true }),
		"spoilt in the last row":             with(func(s *Shape) { s.Spoil, s.SpoilRow = true, 23 }),
		"like a PoRep":                       PoRepLike(60, 4),
		"like SHA-256":                       SHA256Like(60, 3),
	}
}

// The constraint system written out: a coefficient for each row and variable,
// inputs before aux.
type matrices struct{ a, b, c [][]fr.Element }

// writeOut makes the matrices from the rules in the package's description.
func writeOut(c *Circuit) matrices {
	rows, inputs, constraints := c.shape.Rows, c.shape.Inputs, c.shape.constraints()
	matrix := func() [][]fr.Element {
		out := make([][]fr.Element, rows)
		for i := range out {
			out[i] = make([]fr.Element, inputs+c.shape.Aux)
		}
		return out
	}
	m := matrices{matrix(), matrix(), matrix()}
	for i := range inputs {
		m.a[constraints+i][i].SetOne()
	}
	if constraints == 0 {
		return m
	}
	formA, formB, formC := c.forms()
	place := func(out [][]fr.Element, f form, number, variable int) {
		f.visit(number, func(row int, k fr.Element) { out[row][variable].Add(&out[row][variable], &k) })
	}
	for j := range c.shape.Aux {
		column := c.columns.of(j)
		inA, inB := c.assignment.AAux.Has(j), c.assignment.BAux.Has(j)
		if inA {
			place(m.a, formA, column, inputs+j)
		}
		if inB && column != c.pivot.column {
			place(m.b, formB, column, inputs+j)
		}
		if c.inC(c.stream(streamInC), column, inA, inB) {
			place(m.c, formC, column, inputs+j)
		}
	}
	formB.second = -1
	for i := range inputs {
		if c.assignment.BInputs.Has(i) && i != c.pivot.input {
			place(m.b, formB, c.shape.Aux+i, i)
		}
	}

	pivots := []int{}
	if c.pivot.input >= 0 {
		pivots = append(pivots, c.pivot.input)
	} else if c.pivot.column >= 0 {
		c.columns.members(c.pivot.column, func(j int) { pivots = append(pivots, inputs+j) })
	}
	one, values := []int{0}, c.C()
	for i := range constraints {
		bring(m.a[i], one, c, c.assignment.A[i])
		bring(m.b[i], pivots, c, c.assignment.B[i])
		bring(m.c[i], one, c, values[i])
	}
	return m
}

// bring gives the pivots the one coefficient that brings the form to target.
func bring(row []fr.Element, pivots []int, c *Circuit, target fr.Element) {
	var weight fr.Element
	for _, variable := range pivots {
		value := c.value(variable)
		weight.Add(&weight, &value)
	}
	if weight.IsZero() {
		return
	}
	now := c.evaluateForm(row)
	target.Sub(&target, &now).Div(&target, &weight)
	for _, variable := range pivots {
		row[variable].Add(&row[variable], &target)
	}
}

func (c *Circuit) value(variable int) fr.Element {
	if variable < c.shape.Inputs {
		return c.assignment.Inputs[variable]
	}
	return c.assignment.Aux[variable-c.shape.Inputs]
}

func (c *Circuit) evaluateForm(row []fr.Element) (sum fr.Element) {
	for variable := range row {
		value := c.value(variable)
		addProduct(&sum, &row[variable], &value)
	}
	return sum
}

func TestTheWitnessFitsTheConstraintsAndTheDensitiesFitBoth(t *testing.T) {
	for name, shape := range shapes() {
		t.Run(name, func(t *testing.T) {
			c := draw(t, shape)
			m := writeOut(c)
			constraints := shape.constraints()
			for i := range shape.Rows {
				require.Equal(t, c.assignment.A[i], c.evaluateForm(m.a[i]), "a, row %d", i)
				require.Equal(t, c.assignment.B[i], c.evaluateForm(m.b[i]), "b, row %d", i)
				var ab fr.Element
				ab.Mul(&c.assignment.A[i], &c.assignment.B[i])
				satisfied := c.evaluateForm(m.c[i]) == ab
				require.Equal(t, shape.Spoil && i == shape.SpoilRow, !satisfied, "row %d", i)
				if i >= constraints {
					require.Equal(t, c.assignment.Inputs[i-constraints], c.assignment.A[i])
				}
			}
			occurs := func(matrix [][]fr.Element, variable int) bool {
				for i := range matrix {
					if !matrix[i][variable].IsZero() {
						return true
					}
				}
				return false
			}
			a := c.Assignment()
			for i := range shape.Inputs {
				require.True(t, occurs(m.a, i))
				require.Equal(t, a.BInputs.Has(i), occurs(m.b, i), "input %d", i)
			}
			for j := range shape.Aux {
				require.Equal(t, a.AAux.Has(j), occurs(m.a, shape.Inputs+j), "aux %d", j)
				require.Equal(t, a.BAux.Has(j), occurs(m.b, shape.Inputs+j), "aux %d", j)
			}
		})
	}
}

// TestExponentsAgainstTheDefinition computes every exponent from the written-out
// matrices and the product form of the Lagrange basis.
func TestExponentsAgainstTheDefinition(t *testing.T) {
	for name, shape := range shapes() {
		t.Run(name, func(t *testing.T) {
			c := draw(t, shape)
			got, m := c.Exponents(), writeOut(c)
			tau, size := c.trapdoor.tau, groth16.Domain(shape.Rows)
			lagrange := lagrangeByProducts(tau, size)
			column := func(matrix [][]fr.Element, variable int) (sum fr.Element) {
				for i := range matrix {
					addProduct(&sum, &matrix[i][variable], &lagrange[i])
				}
				return sum
			}
			var ic, l, a, b []fr.Element
			for variable := range shape.Inputs + shape.Aux {
				u, v, w := column(m.a, variable), column(m.b, variable), column(m.c, variable)
				var sum fr.Element
				addProduct(&sum, &got.Beta, &u)
				addProduct(&sum, &got.Alpha, &v)
				sum.Add(&sum, &w)
				require.False(t, sum.IsZero(), "variable %d has no point", variable)
				if variable < shape.Inputs {
					ic = append(ic, *new(fr.Element).Div(&sum, &got.Gamma))
				} else {
					l = append(l, *new(fr.Element).Div(&sum, &got.Delta))
				}
				if !u.IsZero() {
					a = append(a, u)
				}
				if !v.IsZero() {
					b = append(b, v)
				}
			}
			assertScalars(t, "ic", ic, got.IC)
			assertScalars(t, "l", l, got.L)
			assertScalars(t, "a", a, got.A)
			assertScalars(t, "b", b, got.B)

			require.Len(t, got.H, size-1)
			vanishing := fr.One()
			for _, root := range domain(size) {
				vanishing.Mul(&vanishing, new(fr.Element).Sub(&tau, &root))
			}
			for i := range got.H {
				var want fr.Element
				want.Exp(tau, big.NewInt(int64(i))).Mul(&want, &vanishing).Div(&want, &got.Delta)
				require.Equal(t, want, got.H[i], "h %d", i)
			}
		})
	}
}

func TestExponentsOverManyChunksAgainstOneGoroutine(t *testing.T) {
	shape := PoRepLike(3*chunk+77, 5)
	shape.Duplicates, shape.DuplicateGroup = 0.2, 100
	for name, change := range map[string]func(*Shape){
		"the one is the pivot": func(*Shape) {},
		"an aux variable is":   func(s *Shape) { s.BOne = false },
	} {
		t.Run(name, func(t *testing.T) {
			shape := shape
			change(&shape)
			c := draw(t, shape)
			e := c.Exponents()
			// Every aux variable whose column is not set last, one by one.
			formA, formB, _ := c.forms()
			lagrange := lagrangeAt(&c.trapdoor.tau, &c.trapdoor.vanishing, groth16.Domain(shape.Rows), shape.Rows)
			for j := range shape.Aux {
				if c.assignment.AAux.Has(j) {
					require.Equal(t, formA.at(c.columns.of(j), lagrange), e.A[shape.Inputs+rank(c.assignment.AAux, j)])
				}
				if c.assignment.BAux.Has(j) && c.columns.of(j) != c.pivot.column {
					require.Equal(t, formB.at(c.columns.of(j), lagrange), e.B[c.assignment.BInputs.Popcount+rank(c.assignment.BAux, j)])
				}
			}
			assert.Len(t, e.A, shape.Inputs+c.assignment.AAux.Popcount)
			assert.Len(t, e.B, c.assignment.BInputs.Popcount+c.assignment.BAux.Popcount)
			// The sums over the columns are the polynomials of the rows.
			a, b := sumsOverColumns(c, e)
			assert.Equal(t, c.evaluation.a, a)
			assert.Equal(t, c.evaluation.b, b)
		})
	}
}

// sumsOverColumns are the sums that a prover does over a and b, on scalars.
func sumsOverColumns(c *Circuit, e *Exponents) (a, b fr.Element) {
	as := c.Assignment()
	atA, atB := 0, 0
	for i := range as.Inputs {
		addProduct(&a, &as.Inputs[i], &e.A[atA])
		atA++
		if as.BInputs.Has(i) {
			addProduct(&b, &as.Inputs[i], &e.B[atB])
			atB++
		}
	}
	for j := range as.Aux {
		if as.AAux.Has(j) {
			addProduct(&a, &as.Aux[j], &e.A[atA])
			atA++
		}
		if as.BAux.Has(j) {
			addProduct(&b, &as.Aux[j], &e.B[atB])
			atB++
		}
	}
	return a, b
}

func TestTheRootOfUnityIsTheOneOfOtherProvers(t *testing.T) {
	// The root of order 2^32 as sppark and blstrs have it.
	want, err := new(fr.Element).SetString("0x16a2a19edfe81f20d09b681922c813b4b63683508c2280b93829971f439f0d2b")
	require.NoError(t, err)
	assert.Equal(t, *want, rootOfUnity(1<<32))
	one := fr.One()
	assert.Equal(t, one, rootOfUnity(1))
	assert.Equal(t, *one.Neg(&one), rootOfUnity(2))
}

func lagrangeByProducts(tau fr.Element, size int) []fr.Element {
	points, out := domain(size), make([]fr.Element, size)
	for i := range out {
		out[i].SetOne()
		for k := range points {
			if k != i {
				var above, below fr.Element
				above.Sub(&tau, &points[k])
				below.Sub(&points[i], &points[k])
				out[i].Mul(&out[i], above.Div(&above, &below))
			}
		}
	}
	return out
}

func domain(size int) []fr.Element {
	out, omega, power := make([]fr.Element, size), rootOfUnity(size), fr.One()
	for i := range out {
		out[i] = power
		power.Mul(&power, &omega)
	}
	return out
}

func assertScalars(t *testing.T, section string, want, got []fr.Element) {
	t.Helper()
	require.Len(t, got, len(want), section)
	for i := range want {
		require.Equal(t, want[i], got[i], fmt.Sprintf("%s %d", section, i))
	}
}

func draw(t testing.TB, shape Shape) *Circuit {
	t.Helper()
	c, err := New(shape, 42)
	require.NoError(t, err)
	return c
}
