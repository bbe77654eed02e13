package image

import (
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/libcuzk/libcuzk/internal/plainfile"
	"github.com/libcuzk/libcuzk/internal/sentinel"
)

// folder makes a folder with the given files, each holding text.
func folder(t *testing.T, path, text string, names ...string) string {
	t.Helper()
	require.NoError(t, os.MkdirAll(path, 0o700))
	for _, name := range names {
		require.NoError(t, os.WriteFile(filepath.Join(path, name), []byte(text), 0o600))
	}
	return path
}

func TestLibraryPathOfATestIsTheTest(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	library, err := libraryPath()
	require.NoError(t, err)
	assert.Equal(t, self, library)
}

func TestFind(t *testing.T) {
	names := []string{"msm", "ntt"}
	embedded := fstest.MapFS{"msm.fatbin": {Data: []byte("in1")}, "ntt.fatbin": {Data: []byte("in2")}}

	t.Run("the variable comes first", func(t *testing.T) {
		named := folder(t, t.TempDir(), "named", "msm.fatbin", "ntt.fatbin")
		t.Setenv(Variable, named)
		got, err := find(embedded, names)
		require.NoError(t, err)
		assert.Equal(t, &Set{map[string][]byte{"msm": []byte("named"), "ntt": []byte("named")}, "CUZK_KERNELS=" + named}, got)
	})
	t.Run("a named folder must be there", func(t *testing.T) {
		t.Setenv(Variable, filepath.Join(t.TempDir(), "gone"))
		_, err := find(embedded, names)
		assert.ErrorIs(t, err, ErrNone)
		assert.ErrorContains(t, err, "gone")
	})
	t.Run("a folder must have all images", func(t *testing.T) {
		t.Setenv(Variable, folder(t, t.TempDir(), "named", "ntt.fatbin"))
		_, err := find(embedded, names)
		assert.ErrorContains(t, err, "1 of 2 are missing: [msm.fatbin]")
		assert.ErrorIs(t, err, sentinel.ErrNoDevice, "no bug of ours")
	})
	t.Run("an empty file is no image", func(t *testing.T) {
		t.Setenv(Variable, folder(t, t.TempDir(), "", "msm.fatbin", "ntt.fatbin"))
		_, err := find(embedded, names)
		assert.ErrorContains(t, err, "msm.fatbin is empty")
	})
	t.Run("no descriptor is left to read it with", func(t *testing.T) {
		t.Setenv(Variable, folder(t, t.TempDir(), "named", "msm.fatbin", "ntt.fatbin"))
		var before unix.Rlimit
		require.NoError(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &before))
		require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 0, Max: before.Max}))
		_, err := find(embedded, names)
		require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &before))
		assert.ErrorIs(t, err, unix.EMFILE)
		assert.ErrorIs(t, err, sentinel.ErrHostMemory, "no bug of ours")
	})
	t.Run("a pipe is no image", func(t *testing.T) {
		named := folder(t, t.TempDir(), "named", "ntt.fatbin")
		require.NoError(t, unix.Mkfifo(filepath.Join(named, "msm.fatbin"), 0o600))
		t.Setenv(Variable, named)
		_, err := find(embedded, names)
		assert.ErrorIs(t, err, plainfile.ErrNotRegular)
		assert.ErrorIs(t, err, sentinel.ErrNoDevice)
	})
	t.Run("else the embedded ones", func(t *testing.T) {
		t.Setenv(Variable, "")
		got, err := find(embedded, names)
		require.NoError(t, err)
		assert.Equal(t, &Set{map[string][]byte{"msm": []byte("in1"), "ntt": []byte("in2")}, "embedded"}, got)
	})
	t.Run("beside the library before the embedded ones", func(t *testing.T) {
		t.Setenv(Variable, "")
		library, err := libraryPath()
		require.NoError(t, err)
		beside := folder(t, filepath.Join(filepath.Dir(library), FolderBeside), "beside", "msm.fatbin", "ntt.fatbin")
		t.Cleanup(func() { os.RemoveAll(beside) })
		got, err := find(embedded, names)
		require.NoError(t, err)
		assert.Equal(t, beside, got.Origin)
	})
	t.Run("nowhere: says where it looked", func(t *testing.T) {
		t.Setenv(Variable, "")
		_, err := find(fstest.MapFS{"README.md": {}}, names)
		assert.ErrorIs(t, err, ErrNone)
		assert.ErrorContains(t, err, "built without kernels")
	})
}
