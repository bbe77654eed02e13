package srs_test

import (
	"bytes"
	"os"
	"testing"
	"unsafe"

	bls "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/engine/srs"
)

func TestSectionsArePointsOnPagesOfTheirOwn(t *testing.T) {
	fromFile := open(t, writeFile(t, readTwo(t)))
	points, err := fromFile.Points(t.Context())
	require.NoError(t, err)
	onHeap := srs.Points{
		H: append([]bls.G1Affine(nil), points.H...), L: append([]bls.G1Affine(nil), points.L...),
		A: append([]bls.G1Affine(nil), points.A...), BG1: append([]bls.G1Affine(nil), points.BG1...),
		BG2: append([]bls.G2Affine(nil), points.BG2...),
	}
	inMemory, err := srs.New(fromFile.VerifyingKey(), &onHeap)
	require.NoError(t, err)
	defer func() { assert.NoError(t, inMemory.Release()) }()
	paged, err := srs.New(fromFile.VerifyingKey(), points)
	require.NoError(t, err)
	defer func() { assert.NoError(t, paged.Release()) }()

	want, err := fromFile.Sections(t.Context())
	require.NoError(t, err)
	for name, test := range map[string]struct {
		params *srs.Params
		copied bool
	}{
		"of a file":                    {fromFile, false},
		"of points on the Go heap":     {inMemory, true},
		"of points on pages their own": {paged, false},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := test.params.Sections(t.Context())
			require.NoError(t, err)
			require.Len(t, got, 5)
			again, err := test.params.Sections(t.Context())
			require.NoError(t, err)
			mine, err := test.params.Points(t.Context())
			require.NoError(t, err)
			for i, section := range got {
				address := uintptr(unsafe.Pointer(unsafe.SliceData(section)))
				assert.Zero(t, address%uintptr(os.Getpagesize()), "section %s begins at a page", srs.Section(i))
				assert.True(t, bytes.Equal(want[i], section), "section %s", srs.Section(i))
				assert.Same(t, &section[0], &again[i][0], "made once")
			}
			behind := unsafe.Pointer(&mine.H[0]) == unsafe.Pointer(&got[0][0])
			assert.Equal(t, test.copied, !behind, "a copy")
		})
	}
}

func TestSectionsOfASetThatWasReleased(t *testing.T) {
	fromFile := open(t, writeFile(t, readTwo(t)))
	points, err := fromFile.Points(t.Context())
	require.NoError(t, err)
	p, err := srs.New(fromFile.VerifyingKey(), points)
	require.NoError(t, err)
	require.NoError(t, p.Release())
	_, err = p.Sections(t.Context())
	assert.ErrorIs(t, err, srs.ErrReleased)
}
