package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestGPUMemorySetting(t *testing.T) {
	for text, want := range map[string]uint64{
		"":            0,
		"17179869184": 16 << 30,
		"16GiB":       16 << 30,
		"16 GiB":      16 << 30,
		"500MiB":      500 << 20,
	} {
		got, err := parseMemory(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, got, text)
	}
	for _, text := range []string{"0", "-1", "1.5GiB", "16GB", "GiB", "16g", "17179869184GiB", "0MiB", " "} {
		_, err := parseMemory(text)
		require.ErrorIs(t, err, errValue, text)
		require.ErrorContains(t, err, gpuMemoryVariable)
	}
}
