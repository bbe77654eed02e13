package srs_test

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	bls "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/engine/srs"
	"github.com/libcuzk/libcuzk/tests/golden"
)

// Byte offsets in golden case two: 4 ic, 31 h, 26 l, 15 a, 12 b_g1, 12 b_g2.
const (
	twoIC   = 864 + 4
	twoH    = twoIC + 4*96 + 4
	twoL    = twoH + 31*96 + 4
	twoA    = twoL + 26*96 + 4
	twoBG1  = twoA + 15*96 + 4
	twoBG2  = twoBG1 + 12*96 + 4
	twoSize = twoBG2 + 12*192
)

func TestDamagedFilesAreRefused(t *testing.T) {
	outsideG1 := bls.GeneratePointNotInG1(fp.NewElement(7))
	outsideG2 := bls.GeneratePointNotInG2(bls.E2{A0: fp.NewElement(7)})
	rawOutsideG1 := new(bls.G1Affine).FromJacobian(&outsideG1).RawBytes()
	rawOutsideG2 := new(bls.G2Affine).FromJacobian(&outsideG2).RawBytes()
	orderThree := bls.G1Affine{Y: fp.NewElement(2)}
	rawOrderThree := orderThree.RawBytes()
	_, _, g1, _ := bls.Generators()
	compressed := g1.Bytes()
	modulus := fp.Modulus().FillBytes(make([]byte, 48))
	infinity := append([]byte{0x40}, make([]byte, 191)...)
	strict := srs.Options{SubgroupCheck: true}

	for name, test := range map[string]struct {
		damage  func([]byte) []byte
		options srs.Options
		want    error
		message string
	}{
		// Lengths and counts.
		"an empty file":                        {cut(0), srs.Options{}, srs.ErrTruncated, "verifying key: expected 864 bytes, the file has 0"},
		"a verifying key cut short":            {cut(863), srs.Options{}, srs.ErrTruncated, "verifying key: expected 864 bytes, the file has 863"},
		"a file that ends inside a count":      {cut(866), srs.Options{}, srs.ErrTruncated, "section ic: count at byte 864: expected 4 bytes, the file has 2 left"},
		"a file that ends inside h":            {cut(twoH + 95), srs.Options{}, srs.ErrTruncated, "section h: its count of 31 points at byte 1252 announces 2976 bytes, the file has 95 left"},
		"a file that ends before the a count":  {cut(twoA - 4), srs.Options{}, srs.ErrTruncated, "section a: count at byte 6732: expected 4 bytes, the file has 0 left"},
		"a file without the last byte of b_g2": {cut(twoSize - 1), srs.Options{}, srs.ErrTruncated, "section b_g2: its count of 12 points"},
		"a file that ends in the second half of b_g2": {
			cut(twoBG2 + 7*192), srs.Options{}, srs.ErrTruncated, "announces 2304 bytes, the file has 1344 left"},
		"a byte after the last section":         {func(b []byte) []byte { return append(b, 0) }, srs.Options{}, srs.ErrTrailing, "the sections end at byte 11640, the file at byte 11641"},
		"the largest count in l":                {count(twoL, 1<<32-1), srs.Options{}, srs.ErrTruncated, "section l: its count of 4294967295 points at byte 4232 announces 412316860320 bytes"},
		"no ic":                                 {section(twoIC, 4*96, 0), srs.Options{}, srs.ErrCounts, "ic: expected at least 1 point, got 0"},
		"an h count that is no domain":          {section(twoH, 31*96, 30), srs.Options{}, srs.ErrCounts, "h: expected a power of two or one less, got 30 points"},
		"more ic than the domain has rows":      {section(twoH, 31*96, 2), srs.Options{}, srs.ErrCounts, "ic: expected at most 3 points, one more than h has, got 4"},
		"fewer a points than inputs":            {section(twoA, 15*96, 3), srs.Options{}, srs.ErrCounts, "a: expected at least the 4 points of the inputs, got 3"},
		"more a points than variables":          {section(twoL, 26*96, 10), srs.Options{}, srs.ErrCounts, "a: expected at most ic + l = 14 points, got 15"},
		"b_g1 shorter than b_g2":                {section(twoBG1, 12*96, 11), srs.Options{}, srs.ErrCounts, "b_g2: expected as many points as b_g1, 11, got 12"},
		"more b points than variables":          {chain(section(twoL, 26*96, 7), shrinkA(7)), srs.Options{}, srs.ErrCounts, "b_g1: expected at most ic + l = 11 points, got 12"},
		"an empty section of b_g2 against b_g1": {section(twoBG2, 12*192, 0), srs.Options{}, srs.ErrCounts, "b_g2: expected as many points as b_g1, 12, got 0"},

		// The verifying key.
		"alpha_g1 off the curve":           {flip(96 - 1), srs.Options{}, srs.ErrNotOnCurve, "verifying key: alpha_g1 at byte 0"},
		"beta_g2 off the curve":            {flip(192 + 191), srs.Options{}, srs.ErrNotOnCurve, "verifying key: beta_g2 at byte 192"},
		"gamma_g2 at infinity":             {put(384, infinity), srs.Options{}, srs.ErrInfinity, "verifying key: gamma_g2 at byte 384"},
		"delta_g1 at infinity":             {put(576, infinity[:96]), srs.Options{}, srs.ErrInfinity, "verifying key: delta_g1 at byte 576"},
		"delta_g1 outside the subgroup":    {put(576, rawOutsideG1[:]), srs.Options{}, srs.ErrNotInSubgroup, "verifying key: delta_g1 at byte 576"},
		"delta_g2 outside the subgroup":    {put(672, rawOutsideG2[:]), srs.Options{}, srs.ErrNotInSubgroup, "verifying key: delta_g2 at byte 672"},
		"beta_g1 not canonical":            {put(96+48, modulus), srs.Options{}, srs.ErrNotCanonical, "verifying key: beta_g1 at byte 96"},
		"an ic point at infinity":          {put(twoIC+96, infinity[:96]), srs.Options{AllowInfinity: true}, srs.ErrInfinity, "section ic: point 1 at byte 964"},
		"an ic point off the curve":        {flip(twoIC + 2*96 + 95), srs.Options{}, srs.ErrNotOnCurve, "section ic: point 2 at byte 1060"},
		"an ic point outside the subgroup": {put(twoIC+96, rawOutsideG1[:]), srs.Options{}, srs.ErrNotInSubgroup, "section ic: point 1 at byte 964"},

		// The points.
		"an h point off the curve":           {flip(twoH + 30*96 + 50), srs.Options{}, srs.ErrNotOnCurve, "section h: point 30 at byte 4136"},
		"an l point with x not canonical":    {put(twoL, modulus), srs.Options{}, srs.ErrNotCanonical, "section l: point 0 at byte 4236"},
		"an l point with y not canonical":    {put(twoL+48, modulus), srs.Options{}, srs.ErrNotCanonical, "section l: point 0"},
		"a flag bit in y":                    {flipBit(twoL+48, 0x80), srs.Options{}, srs.ErrNotCanonical, "section l: point 0"},
		"an a point that is compressed":      {put(twoA+96, compressed[:]), srs.Options{}, srs.ErrEncoding, "section a: point 1 at byte 6832: first byte 0x97 has the compression flag 0x80"},
		"an a point with a sign flag":        {flipBit(twoA, 0x20), srs.Options{}, srs.ErrEncoding, "sign flag 0x20 on an uncompressed point"},
		"an a point of order three":          {put(twoA, rawOrderThree[:]), srs.Options{}, srs.ErrNotInSubgroup, "section a: point 0"},
		"a b_g1 point at infinity":           {put(twoBG1+11*96, infinity[:96]), srs.Options{}, srs.ErrInfinity, "section b_g1: point 11 at byte 9236"},
		"an infinity flag on a point":        {flipBit(twoBG1, 0x40), srs.Options{AllowInfinity: true}, srs.ErrEncoding, "infinity flag 0x40 on a point that is not zero"},
		"a b_g2 point at infinity":           {put(twoBG2, infinity), srs.Options{}, srs.ErrInfinity, "section b_g2: point 0 at byte 9336"},
		"a b_g2 point off the curve":         {flip(twoBG2 + 192 + 191), srs.Options{}, srs.ErrNotOnCurve, "section b_g2: point 1 at byte 9528"},
		"a b_g2 point, y.c0 not canonical":   {put(twoBG2+144, modulus), srs.Options{}, srs.ErrNotCanonical, "section b_g2: point 0"},
		"zeros instead of points":            {put(twoH, make([]byte, 960)), srs.Options{}, srs.ErrNotOnCurve, "section h: point 0 at byte 1256"},
		"two bad points: the first is named": {chain(flip(twoBG1+50), flip(twoL+3*96+50)), srs.Options{}, srs.ErrNotOnCurve, "section l: point 3"},
		"an h point outside the subgroup":    {put(twoH+5*96, rawOutsideG1[:]), strict, srs.ErrNotInSubgroup, "section h: point 5 at byte 1736"},
		"a b_g2 point outside the subgroup":  {put(twoBG2+11*192, rawOutsideG2[:]), strict, srs.ErrNotInSubgroup, "section b_g2: point 11 at byte 11448"},
	} {
		t.Run(name, func(t *testing.T) {
			path := writeFile(t, test.damage(readTwo(t)))
			err := openAndRead(t, path, test.options)
			require.ErrorIs(t, err, test.want)
			assert.ErrorContains(t, err, test.message)
			assert.ErrorContains(t, err, path)
		})
	}
}

func TestOptionsTakeWhatIsRefusedByDefault(t *testing.T) {
	outside := bls.GeneratePointNotInG1(fp.NewElement(7))
	raw := new(bls.G1Affine).FromJacobian(&outside).RawBytes()
	for name, test := range map[string]struct {
		damage  func([]byte) []byte
		options srs.Options
	}{
		"bytes after the last section":         {func(b []byte) []byte { return append(b, 1, 2, 3) }, srs.Options{AllowTrailing: true}},
		"infinity":                             {put(twoA, append([]byte{0x40}, make([]byte, 95)...)), srs.Options{AllowInfinity: true}},
		"a point outside the subgroup":         {put(twoH, raw[:]), srs.Options{}},
		"everything in order, strictly read":   {func(b []byte) []byte { return b }, srs.Options{SubgroupCheck: true}},
		"h as long as the domain, as some do":  {longH, srs.Options{}},
		"infinity in G2 with the option given": {put(twoBG2, append([]byte{0x40}, make([]byte, 191)...)), srs.Options{AllowInfinity: true}},
	} {
		t.Run(name, func(t *testing.T) {
			assert.NoError(t, openAndRead(t, writeFile(t, test.damage(readTwo(t))), test.options))
		})
	}
}

func TestWhatIsNoFileIsRefused(t *testing.T) {
	dir := t.TempDir()
	_, err := srs.Open(dir, srs.Options{})
	require.ErrorIs(t, err, srs.ErrRead)
	assert.ErrorContains(t, err, "not a regular file (folder)")
	_, err = srs.Open(filepath.Join(dir, "absent"), srs.Options{})
	assert.ErrorIs(t, err, srs.ErrRead)
	assert.ErrorIs(t, err, os.ErrNotExist)
	_, err = srs.Open("/dev/zero", srs.Options{})
	assert.ErrorIs(t, err, srs.ErrRead)
}

func openAndRead(t *testing.T, path string, options srs.Options) error {
	t.Helper()
	p, err := srs.Open(path, options)
	if err != nil {
		return err
	}
	_, err = p.Points(t.Context())
	require.NoError(t, p.Release())
	return err
}

func readTwo(t testing.TB) []byte {
	t.Helper()
	c, err := golden.Named("two")
	require.NoError(t, err)
	data, err := os.ReadFile(c.Params)
	require.NoError(t, err)
	require.Len(t, data, twoSize)
	return data
}

func writeFile(t testing.TB, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "test.params")
	require.NoError(t, os.WriteFile(path, data, 0o600))
	return path
}

func cut(length int) func([]byte) []byte {
	return func(b []byte) []byte { return b[:length] }
}

func put(at int, bytes []byte) func([]byte) []byte {
	return func(b []byte) []byte { copy(b[at:], bytes); return b }
}

func flip(at int) func([]byte) []byte { return flipBit(at, 1) }

func flipBit(at int, bit byte) func([]byte) []byte {
	return func(b []byte) []byte { b[at] ^= bit; return b }
}

// count changes the count of the section whose points begin at first.
func count(first int, n uint32) func([]byte) []byte {
	return func(b []byte) []byte { binary.BigEndian.PutUint32(b[first-4:], n); return b }
}

// section cuts the section of the given size at first down to n points.
func section(first, size int, n uint32) func([]byte) []byte {
	pointBytes := 96
	if first == twoBG2 {
		pointBytes = 192
	}
	return func(b []byte) []byte {
		binary.BigEndian.PutUint32(b[first-4:], n)
		return append(b[:first+int(n)*pointBytes:first+int(n)*pointBytes], b[first+size:]...)
	}
}

// shrinkA cuts a to n points after l was cut to 7.
func shrinkA(n uint32) func([]byte) []byte {
	return section(twoA-19*96, 15*96, n)
}

// longH gives h one point more, so that it has as many as the domain.
func longH(b []byte) []byte {
	out := append([]byte(nil), b[:twoL-4]...)
	out = append(out, b[twoH:twoH+96]...)
	out = append(out, b[twoL-4:]...)
	binary.BigEndian.PutUint32(out[twoH-4:], 32)
	return out
}

func chain(steps ...func([]byte) []byte) func([]byte) []byte {
	return func(b []byte) []byte {
		for _, step := range steps {
			b = step(b)
		}
		return b
	}
}
