package driver

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestOpenReportsWhatIsMissing(t *testing.T) {
	text := filepath.Join(t.TempDir(), "text")
	require.NoError(t, os.WriteFile(text, []byte("not a library"), 0o600))
	for name, test := range map[string]struct {
		library string
		want    []string
	}{
		"no such file: the loader's reason":         {"/nonexistent/libcuda.so.1", []string{"no driver library", "/nonexistent/libcuda.so.1"}},
		"not the driver: the functions it lacks":    {"libm.so.6", []string{"libm.so.6 lacks", "cuInit", "cuMemMap", "580"}},
		"not a library at all: the loader's reason": {text, []string{"no driver library", text}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(libraryVariable, test.library)
			_, err := load()
			require.Error(t, err)
			for _, want := range test.want {
				assert.ErrorContains(t, err, want)
			}
		})
	}
}

func TestVersion(t *testing.T) {
	old := &Driver{version: 12080, path: "libcuda.so.1"}
	err := old.checkVersion()
	require.ErrorIs(t, err, ErrOldDriver)
	assert.EqualError(t, err, "cuda: driver too old: libcuda.so.1 supports CUDA 12.8, the kernels need 13.0 (driver release 580 or newer)")
	assert.NoError(t, (&Driver{version: MinVersion}).checkVersion())
	assert.NoError(t, (&Driver{version: 13010}).checkVersion())
}

func TestErrorText(t *testing.T) {
	err := error(&Error{Call: "cuMemCreate", Detail: "3221225472 bytes", Device: 0, Code: ErrorOutOfMemory,
		Name: "CUDA_ERROR_OUT_OF_MEMORY", Text: "out of memory"})
	assert.EqualError(t, err, "cuda: cuMemCreate 3221225472 bytes on gpu0: out of memory (CUDA_ERROR_OUT_OF_MEMORY, CUresult 2)")
	assert.True(t, Is(err, ErrorOutOfMemory))
	assert.False(t, Is(err, ErrorNotReady))
	assert.False(t, Sticky(err))
	assert.True(t, Sticky(errors.Join(errors.New("job 7"), &Error{Code: 700})))
	assert.False(t, Sticky(errors.New("no driver error")))

	early := &Error{Call: "cuInit", Device: -1, Code: 999, Name: "CUDA_ERROR_UNKNOWN", Text: "unknown error"}
	assert.EqualError(t, early, "cuda: cuInit: unknown error (CUDA_ERROR_UNKNOWN, CUresult 999)")
}
