package launch_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/internal/launch"
	"github.com/libcuzk/libcuzk/tests/cudasim"
)

// The Go argument structs and thread counts are twins of those in the kernel
// sources; the simulator's registry has what the C++ compiler made of them.
func TestKernelsMatchTheirSources(t *testing.T) {
	if onCard() {
		t.Skip("the registry is in the simulator")
	}
	sim := cudasim.New(t, cudasim.Config{})
	sources := map[string]cudasim.Kernel{}
	for _, k := range sim.Report().Kernels {
		sources[k.Name] = k
	}
	seen := map[string]bool{}
	for _, k := range launch.Kernels() {
		source, ok := sources[k.Name]
		require.True(t, ok, "%s has a source", k.Name)
		assert.EqualValues(t, source.ArgsBytes, k.ArgBytes, "%s: argument bytes", k.Name)
		assert.EqualValues(t, source.MaxThreads, k.Threads, "%s: threads a block", k.Name)
		assert.False(t, seen[k.Name], "%s is declared twice", k.Name)
		seen[k.Name] = true
	}
	for name := range sources {
		assert.True(t, seen[name], "%s has a launcher", name)
	}
}
