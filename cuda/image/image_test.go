package image

import (
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFind(t *testing.T) {
	dir := t.TempDir()
	named := filepath.Join(dir, "named.fatbin")
	require.NoError(t, os.WriteFile(named, []byte("named"), 0o600))
	empty := filepath.Join(dir, "empty.fatbin")
	require.NoError(t, os.WriteFile(empty, nil, 0o600))
	embedded := fstest.MapFS{FileName: {Data: []byte("inside")}}

	self, err := os.Executable()
	require.NoError(t, err)
	library, err := libraryPath()
	require.NoError(t, err)
	assert.Equal(t, self, library, "a test binary is its own library")

	t.Run("the variable comes first", func(t *testing.T) {
		t.Setenv(Variable, named)
		got, err := Find(embedded)
		require.NoError(t, err)
		assert.Equal(t, &Image{[]byte("named"), "CUZK_KERNELS=" + named}, got)
	})
	t.Run("a named file must be there", func(t *testing.T) {
		t.Setenv(Variable, named+".gone")
		_, err := Find(embedded)
		assert.ErrorIs(t, err, os.ErrNotExist)
		assert.ErrorContains(t, err, "CUZK_KERNELS")
	})
	t.Run("an empty file is no image", func(t *testing.T) {
		t.Setenv(Variable, empty)
		_, err := Find(embedded)
		assert.EqualError(t, err, "cuda: kernel image CUZK_KERNELS="+empty+" is empty")
	})
	t.Run("else the embedded one", func(t *testing.T) {
		t.Setenv(Variable, "")
		got, err := Find(embedded)
		require.NoError(t, err)
		assert.Equal(t, &Image{[]byte("inside"), "embedded"}, got)
	})
	t.Run("beside the library before the embedded one", func(t *testing.T) {
		t.Setenv(Variable, "")
		beside := filepath.Join(filepath.Dir(library), FileName)
		require.NoError(t, os.WriteFile(beside, []byte("beside"), 0o600))
		t.Cleanup(func() { os.Remove(beside) })
		got, err := Find(embedded)
		require.NoError(t, err)
		assert.Equal(t, &Image{[]byte("beside"), beside}, got)
	})
	t.Run("nowhere: says where it looked", func(t *testing.T) {
		t.Setenv(Variable, "")
		_, err := Find(fstest.MapFS{})
		assert.ErrorIs(t, err, ErrNone)
		assert.ErrorContains(t, err, "built without kernels")
	})
}
