package launch_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/internal/launch"
	"github.com/libcuzk/libcuzk/tests/cudasim"
	"github.com/libcuzk/libcuzk/tests/cudasim/twins"
)

// simulator is the simulator and what the C++ compiler made of its kernels.
func simulator(t *testing.T) (*cudasim.Sim, *twins.Sources) {
	t.Helper()
	if onDevice() {
		t.Skip("the sources are in the simulator")
	}
	readSources(t)
	sim := cudasim.New(t, cudasim.Config{})
	sources, err := twins.Read(os.Getenv(cudasim.LibraryVariable))
	require.NoError(t, err)
	return sim, sources
}

// Argument structs and thread counts are twins of those in the sources.
func TestKernelsMatchTheirSources(t *testing.T) {
	sim, sources := simulator(t)
	registered := map[string]cudasim.Kernel{}
	for _, k := range sim.Report().Kernels {
		registered[k.Name] = k
	}
	seen := map[string]bool{}
	for _, k := range launch.Kernels() {
		require.Contains(t, registered, k.Name, "kernels of the sources")
		assert.EqualValues(t, registered[k.Name].MaxThreads, k.Threads, "%s: threads a block", k.Name)
		args, err := twins.Of(k.Arguments())
		require.NoError(t, err, k.Name)
		assert.NotEmpty(t, args.Fields, k.Name)
		assert.Equal(t, sources.Arguments[k.Name], args, "%s: arguments in C++ and in Go", k.Name)
		assert.False(t, seen[k.Name], "%s is declared twice", k.Name)
		seen[k.Name] = true
	}
	for name := range registered {
		assert.True(t, seen[name], "%s has a launcher", name)
	}
}

func TestConstantsMatchTheSources(t *testing.T) {
	_, sources := simulator(t)
	for name, twin := range launch.Constants {
		assert.Equal(t, []int64{twin}, sources.Constants[name], name)
	}
}
