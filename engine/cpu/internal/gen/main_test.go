package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTheFilesAreWhatTheGeneratorMakes(t *testing.T) {
	for name, file := range files {
		path := filepath.Join("..", name, "zifma_amd64.s")
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.True(t, string(data) == file(), "%s is out of date: go generate ./engine/cpu/...", path)
	}
}
