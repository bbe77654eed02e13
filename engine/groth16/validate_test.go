package groth16

import (
	"math"
	"os"
	"testing"
	"unsafe"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/libcuzk/libcuzk/internal/modulus"
)

// fitting returns an assignment of 70 aux variables with odd densities, and
// the counts that fit it.
func fitting() (*Assignment, Counts) {
	a := &Assignment{
		A: make([]fr.Element, 5), B: make([]fr.Element, 5),
		Inputs: make([]fr.Element, 2), Aux: make([]fr.Element, 70),
		AAux:    Density{Words: []uint64{math.MaxUint64, math.MaxUint64}, Len: 70, Popcount: 70},
		BInputs: Density{Words: []uint64{1}, Len: 2, Popcount: 1},
		BAux:    Density{Words: []uint64{0b1011, 0b100001}, Len: 70, Popcount: 5},
	}
	return a, Counts{IC: 2, H: 7, L: 70, A: 72, BG1: 6, BG2: 6}
}

func TestValidateAcceptsWhatFits(t *testing.T) {
	a, c := fitting()
	require.NoError(t, Validate(a, c))
	c.H = 8 // one h point more than needed
	require.NoError(t, Validate(a, c))

	a.AAux, c.L, c.A = Density{}, 0, 2 // no aux variable at all
	a.Aux, a.BAux, c.BG1, c.BG2 = nil, Density{}, 1, 1
	require.NoError(t, Validate(a, c))
}

func TestValidateRefuses(t *testing.T) {
	tests := map[string]struct {
		change func(*Assignment, *Counts)
		want   error
		kind   error
		text   string
	}{
		"a and b of different length": {func(a *Assignment, c *Counts) { a.B = a.B[:4] },
			ErrRowCount, ErrSize, "a has 5, b has 4"},
		"no rows":  {func(a *Assignment, c *Counts) { a.A, a.B = nil, nil }, ErrNoRows, ErrSize, "empty"},
		"no input": {func(a *Assignment, c *Counts) { a.Inputs = nil }, ErrNoInputs, ErrSize, "constant one"},
		"fewer rows than inputs": {func(a *Assignment, c *Counts) { a.A, a.B = a.A[:1], a.B[:1] },
			ErrTooFewRows, ErrSize, "1 rows, 2 inputs"},
		"a density one bit too short": {func(a *Assignment, c *Counts) { a.AAux.Len = 69 },
			ErrDensityLength, ErrDensity, "a_aux has 69 bits for 70"},
		"an input density as long as aux": {func(a *Assignment, c *Counts) { a.BInputs.Len = 70 },
			ErrDensityLength, ErrDensity, "b_inputs has 70 bits for 2"},
		"a density without its last word": {func(a *Assignment, c *Counts) { a.BAux.Words = a.BAux.Words[:1] },
			ErrDensityWords, ErrDensity, "b_aux has 1, 70 bits need 2"},
		"a popcount that counts bits past the end": {func(a *Assignment, c *Counts) { a.AAux.Popcount = 128 },
			ErrPopcount, ErrDensity, "128 set bits and has 70"},
		"a popcount too small": {func(a *Assignment, c *Counts) { a.BAux.Popcount = 4 },
			ErrPopcount, ErrDensity, "4 set bits and has 5"},
		"h for the domain below": {func(a *Assignment, c *Counts) { c.H = 6 }, ErrDomain, ErrMismatch, "7 or 8, the parameters have 6"},
		"h for twice the domain": {func(a *Assignment, c *Counts) { c.H = 15 }, ErrDomain, ErrMismatch, "have 15"},
		"other inputs":           {func(a *Assignment, c *Counts) { c.IC = 3 }, ErrInputCount, ErrMismatch, "has 2, the parameters have 3"},
		"other aux":              {func(a *Assignment, c *Counts) { c.L = 71 }, ErrAuxCount, ErrMismatch, "has 70, the parameters have 71"},
		"other a":                {func(a *Assignment, c *Counts) { c.A = 71 }, ErrACount, ErrMismatch, "72 (2 inputs, 70 aux)"},
		"other b":                {func(a *Assignment, c *Counts) { c.BG1 = 7 }, ErrBCount, ErrMismatch, "6 (1 inputs, 5 aux)"},
		"b_g2 unlike b_g1":       {func(a *Assignment, c *Counts) { c.BG2 = 5 }, ErrBG2Count, ErrMismatch, "6 and 5"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			a, c := fitting()
			test.change(a, &c)
			err := Validate(a, c)
			require.ErrorIs(t, err, test.want)
			assert.ErrorIs(t, err, test.kind)
			assert.ErrorContains(t, err, test.text)
		})
	}
}

// A length that the parameters do not have may pass the end of the caller's
// memory: no word of a density is read then.
func TestDensitiesOfAWrongLengthAreNotRead(t *testing.T) {
	page := os.Getpagesize()
	guarded, err := unix.Mmap(-1, 0, page, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON)
	require.NoError(t, err)
	defer unix.Munmap(guarded)
	words := unsafe.Slice((*uint64)(unsafe.Pointer(&guarded[0])), page/8)
	for name, c := range map[string]struct {
		change func(*Counts)
		want   error
	}{
		"aux":    {func(c *Counts) { c.L = 26 }, ErrAuxCount},
		"inputs": {func(c *Counts) { c.IC = 1 }, ErrInputCount},
		"rows":   {func(c *Counts) { c.H = 3 }, ErrDomain},
	} {
		a, counts := fitting()
		a.AAux.Words, a.BInputs.Words, a.BAux.Words = words, words, words
		c.change(&counts)
		assert.ErrorIs(t, Validate(a, counts), c.want, name)
	}
}

func TestDomainIsTheSmallestPowerOfTwo(t *testing.T) {
	for rows, want := range map[int]int{1: 1, 2: 2, 3: 4, 4: 4, 5: 8, 1024: 1024, 1025: 2048, 130278869: 1 << 27} {
		assert.Equal(t, want, Domain(rows), "%d rows", rows)
	}
}

func TestCheckScalar(t *testing.T) {
	x := fr.Element(modulus.R)
	require.ErrorIs(t, CheckScalar("aux", 3, &x), ErrScalarRange)
	require.ErrorContains(t, CheckScalar("aux", 3, &x), "aux[3]")
	require.ErrorContains(t, CheckScalar("r", -1, &x), ": r")
	x[0]--
	require.NoError(t, CheckScalar("aux", 3, &x))
}
