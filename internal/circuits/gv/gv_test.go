package gv_test

import (
	"bytes"
	"encoding/binary"
	"os"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/engine/groth16"
	"github.com/libcuzk/libcuzk/internal/circuits/gv"
	"github.com/libcuzk/libcuzk/tests/golden"
)

func TestGoldenFilesHoldWhatTheTableSays(t *testing.T) {
	golden.Each(t, func(t *testing.T, c golden.Case) {
		for _, path := range c.Witnesses {
			f, err := gv.Read(path)
			require.NoError(t, err)
			a := &f.Assignment
			assert.Len(t, a.A, c.Rows)
			assert.Len(t, a.B, c.Rows)
			assert.Len(t, a.Inputs, c.Inputs)
			assert.Len(t, a.Aux, c.Aux)
			assert.Equal(t, [2]int{c.Aux, c.AAux}, [2]int{a.AAux.Len, a.AAux.Popcount})
			assert.Equal(t, [2]int{c.Inputs, c.BInputs}, [2]int{a.BInputs.Len, a.BInputs.Popcount})
			assert.Equal(t, [2]int{c.Aux, c.BAux}, [2]int{a.BAux.Len, a.BAux.Popcount})
			assert.NotNil(t, f.Proof)
			for i := range a.A {
				var ab fr.Element
				ab.Mul(&a.A[i], &a.B[i])
				require.Equal(t, ab, f.C[i], "row %d", i)
			}
			for _, d := range []groth16.Density{a.AAux, a.BInputs, a.BAux} {
				set := 0
				for i := range d.Len {
					if d.Has(i) {
						set++
					}
				}
				assert.Equal(t, d.Popcount, set)
			}
		}
	})
}

func TestWriteGivesTheSameBytes(t *testing.T) {
	golden.Each(t, func(t *testing.T, c golden.Case) {
		want, err := os.ReadFile(c.Witnesses[0])
		require.NoError(t, err)
		f, err := gv.Decode(want)
		require.NoError(t, err)
		var got bytes.Buffer
		require.NoError(t, f.Write(&got))
		assert.True(t, bytes.Equal(want, got.Bytes()))
	})
}

func TestAProofCanBeLeftOut(t *testing.T) {
	f, _ := readOne(t)
	f.Proof = nil
	var out bytes.Buffer
	require.NoError(t, f.Write(&out))
	again, err := gv.Decode(out.Bytes())
	require.NoError(t, err)
	assert.Equal(t, f, again)
}

func TestDecodeRefuses(t *testing.T) {
	word := func(at int, v uint64) func([]byte) []byte {
		return func(b []byte) []byte { binary.LittleEndian.PutUint64(b[at:], v); return b }
	}
	const proofOffset = 192 // from the end
	for name, test := range map[string]struct {
		damage  func([]byte) []byte
		message string
	}{
		"an empty file":                    {func([]byte) []byte { return nil }, "header: expected 96 bytes, got 0"},
		"a header cut short":               {func(b []byte) []byte { return b[:95] }, "header: expected 96 bytes, got 95"},
		"another magic":                    {func(b []byte) []byte { b[0] = 'X'; return b }, `magic: expected "CUZKGV01"`},
		"another version":                  {word(8, 2), "version: expected 1, got 2"},
		"an unknown flag":                  {word(16, 3), "flags: expected 0 or 1, got 0x3"},
		"one byte missing":                 {func(b []byte) []byte { return b[:len(b)-1] }, "length: the counts add up to 760 bytes, got 759"},
		"one byte more":                    {func(b []byte) []byte { return append(b, 0) }, "length: the counts add up to 760 bytes, got 761"},
		"one row more":                     {word(24, 4), "length: the counts add up to 856 bytes"},
		"a row count that would overflow":  {word(24, 1<<59), "rows: 576460752303423488 do not fit"},
		"a density that would overflow":    {word(80, 1<<64-1), "b_aux bits: 18446744073709551615 do not fit"},
		"a popcount out of range":          {word(56, 1<<63), "a_aux popcount: 9223372036854775808 do not fit"},
		"a proof that is not compressed":   {func(b []byte) []byte { b[len(b)-proofOffset] &= 0x7f; return b }, "proof element A is not compressed"},
		"a proof element off the curve":    {func(b []byte) []byte { return fill(b, len(b)-48, 0x80) }, "proof element C"},
		"a proof element not in the field": {func(b []byte) []byte { return fill(b, len(b)-144, 0xff) }, "proof element B"},
	} {
		t.Run(name, func(t *testing.T) {
			_, data := readOne(t)
			_, err := gv.Decode(test.damage(data))
			require.ErrorIs(t, err, gv.ErrFormat)
			assert.ErrorContains(t, err, test.message)
		})
	}
}

func TestWriteRefusesWhatDoesNotFitTogether(t *testing.T) {
	f, _ := readOne(t)
	f.C = f.C[:1]
	assert.ErrorContains(t, f.Write(new(bytes.Buffer)), "must have one length, got 3, 3 and 1 rows")
	f, _ = readOne(t)
	f.Assignment.BAux.Words = nil
	assert.ErrorContains(t, f.Write(new(bytes.Buffer)), "density of 1 bits: expected 1 words, got 0")
}

func TestReadNamesTheFile(t *testing.T) {
	path := t.TempDir() + "/bad.gv"
	require.NoError(t, os.WriteFile(path, []byte("CUZK"), 0o600))
	_, err := gv.Read(path)
	assert.ErrorContains(t, err, path)
	_, err = gv.Read(path + ".absent")
	assert.ErrorIs(t, err, os.ErrNotExist)
}

func FuzzDecode(f *testing.F) {
	cases, err := golden.Small()
	require.NoError(f, err)
	for _, c := range cases[:3] {
		data, err := os.ReadFile(c.Witnesses[0])
		require.NoError(f, err)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := gv.Decode(data)
		if err != nil {
			require.ErrorIs(t, err, gv.ErrFormat)
			return
		}
		var out bytes.Buffer
		require.NoError(t, file.Write(&out))
		again, err := gv.Decode(out.Bytes())
		require.NoError(t, err)
		require.Equal(t, file, again)
	})
}

// fill sets the compressed point at offset to one first byte and then 0xff,
// which is no valid x.
func fill(b []byte, at int, first byte) []byte {
	b[at] = first
	for i := at + 1; i < at+48; i++ {
		b[i] = 0xff
	}
	return b
}

func readOne(t *testing.T) (*gv.File, []byte) {
	t.Helper()
	c, err := golden.Named("one")
	require.NoError(t, err)
	data, err := os.ReadFile(c.Witnesses[0])
	require.NoError(t, err)
	f, err := gv.Decode(data)
	require.NoError(t, err)
	return f, data
}
