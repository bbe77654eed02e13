package kernels

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// The simulator runs the portable arithmetic, so that without a GPU only
// this test sees the carry chains that the GPU runs.
func TestCarryChains(t *testing.T) {
	compiler, err := exec.LookPath("g++")
	if err != nil {
		t.Skip("g++ is missing")
	}
	sources, err := filepath.Glob("*/*.cuh")
	require.NoError(t, err)
	for _, source := range sources {
		_, err := os.ReadFile(source) // go test runs again what it saw being read and has changed
		require.NoError(t, err)
	}
	program := filepath.Join(t.TempDir(), "chains")
	output, err := exec.Command(compiler, "-std=c++17", "-O1", "-Wall", "-Werror", "-I", ".", "-o", program,
		filepath.Join("field", "testdata", "chains.cpp")).CombinedOutput()
	require.NoError(t, err, "%s", output)
	output, err = exec.Command(program).CombinedOutput()
	require.NoError(t, err, "%s", output)
	t.Logf("%s", output)
}
