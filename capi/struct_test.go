package main

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// newerSRSOptions is what cuzk_srs_options may become.
type newerSRSOptions struct {
	srsOptionsC
	later [16]byte
}

func TestReadStruct(t *testing.T) {
	read := func(o *newerSRSOptions) (srsOptionsC, error) {
		return readStruct[srsOptionsC]("options", addressOf(o), srsOptionsBytesABI1)
	}
	sized := func(size int) *newerSRSOptions {
		o := guarded(t, make([]newerSRSOptions, 1), 1)
		o.struct_size = sizeT(size)
		o.flags = 1
		return o
	}

	t.Run("a caller of the same version is read whole", func(t *testing.T) {
		o, err := read(sized(srsOptionsBytesABI1))
		require.NoError(t, err)
		assert.EqualValues(t, 1, o.flags)
	})
	t.Run("a newer caller is accepted while what it added is zero", func(t *testing.T) {
		o, err := read(sized(srsOptionsBytesABI1 + 16))
		require.NoError(t, err)
		assert.EqualValues(t, 1, o.flags)
	})
	t.Run("a newer caller that uses what it added is refused", func(t *testing.T) {
		o := sized(srsOptionsBytesABI1 + 16)
		o.later[15] = 7
		_, err := read(o)
		require.ErrorIs(t, err, errStructSize)
		require.ErrorContains(t, err, "byte 31")
	})
	t.Run("an older caller's missing fields are zero", func(t *testing.T) {
		// As if the struct had ended after flags in the first version.
		o := sized(8)
		o.flags = 0xdead
		got, err := readStruct[srsOptionsC]("options", addressOf(o), 8)
		require.NoError(t, err)
		assert.Zero(t, got.flags)
	})
	for name, size := range map[string]int{
		"no size":                   0,
		"smaller than the first":    srsOptionsBytesABI1 - 8,
		"not a multiple of 8 bytes": srsOptionsBytesABI1 + 4,
		"garbage":                   1 << 40,
		"minus one":                 -1,
	} {
		t.Run("refused: "+name, func(t *testing.T) {
			_, err := read(sized(size))
			require.ErrorIs(t, err, errStructSize)
		})
	}
	t.Run("refused: null and misaligned", func(t *testing.T) {
		_, err := readStruct[srsOptionsC]("options", 0, srsOptionsBytesABI1)
		require.ErrorIs(t, err, errNull)
		for _, p := range []address{1, 4, 8*1000 + 7} {
			_, err = readStruct[srsOptionsC]("options", p, srsOptionsBytesABI1)
			require.ErrorIs(t, err, errAlignment)
		}
	})
}

func TestWriteStruct(t *testing.T) {
	t.Run("an older caller's memory past its struct is not touched", func(t *testing.T) {
		info := guarded(t, make([]srsInfoC, 1), 1)
		info.struct_size = 24 // struct_size, domain_size, num_inputs
		size, err := structSize[srsInfoC]("out", addressOf(info), 24)
		require.NoError(t, err)
		writeStruct(addressOf(info), size, srsInfoC{domain_size: 1, num_inputs: 2, num_aux: 3})
		assert.Equal(t, srsInfoC{struct_size: 24, domain_size: 1, num_inputs: 2}, *info)
	})
	t.Run("a newer caller gets what is known", func(t *testing.T) {
		type newerSRSInfo struct {
			srsInfoC
			later uint64
		}
		info := guarded(t, make([]newerSRSInfo, 1), 1)
		info.struct_size = srsInfoBytesABI1 + 8
		size, err := structSize[srsInfoC]("out", addressOf(info), srsInfoBytesABI1)
		require.NoError(t, err)
		writeStruct(addressOf(info), size, srsInfoC{point_bytes: 9})
		assert.EqualValues(t, 9, info.point_bytes)
		assert.Zero(t, info.later)
	})
}

func TestFirstSizes(t *testing.T) {
	// The first version of each struct is what this library knows until a
	// field is appended; then the constant stays and this line changes.
	assert.EqualValues(t, srsOptionsBytesABI1, unsafe.Sizeof(srsOptionsC{}))
	assert.EqualValues(t, srsInfoBytesABI1, unsafe.Sizeof(srsInfoC{}))
	assert.EqualValues(t, assignmentBytesABI1, unsafe.Sizeof(assignmentC{}))
	assert.EqualValues(t, proveOptionsBytesABI1, unsafe.Sizeof(proveOptionsC{}))
	assert.EqualValues(t, deviceInfoBytesABI1, unsafe.Sizeof(deviceInfoC{}))
}
