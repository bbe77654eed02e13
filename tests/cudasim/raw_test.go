//go:build linux && (amd64 || arm64)

package cudasim

import (
	"os"
	"testing"

	"github.com/ebitengine/purego"
	"github.com/stretchr/testify/require"
)

// bindRaw binds one driver function: for calls that the driver package, rightly, cannot make.
func bindRaw(t *testing.T, name string, f any) {
	t.Helper()
	handle, err := purego.Dlopen(os.Getenv(LibraryVariable), purego.RTLD_NOW|purego.RTLD_LOCAL)
	require.NoError(t, err)
	address, err := purego.Dlsym(handle, name)
	require.NoError(t, err)
	purego.RegisterFunc(f, address)
}
