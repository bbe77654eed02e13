package golden_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/tests/golden"
)

func TestEveryFileOfTheTableExistsAndEveryFileIsInTheTable(t *testing.T) {
	cases, err := golden.Small()
	require.NoError(t, err)
	known := map[string]bool{}
	for _, c := range cases {
		for _, path := range append([]string{c.Params}, c.Witnesses...) {
			assert.FileExists(t, path)
			known[filepath.Base(path)] = true
		}
	}
	dir, err := golden.Dir()
	require.NoError(t, err)
	for _, pattern := range []string{"*.params", "*.gv"} {
		found, err := filepath.Glob(filepath.Join(dir, pattern))
		require.NoError(t, err)
		for _, path := range found {
			assert.True(t, known[filepath.Base(path)], "%s is not in the table", path)
		}
	}
}

func TestTheLargeCaseIsLookedForWhereTheVariableSays(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(golden.DirEnv, dir)
	_, err := golden.Large()
	require.ErrorIs(t, err, golden.ErrAbsent)
	assert.ErrorContains(t, err, dir)

	for _, name := range []string{"sha512.params", "sha512.gv", "sha512.1.gv"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	c, err := golden.Large()
	require.NoError(t, err)
	assert.Equal(t, filepath.Join(dir, "sha512.params"), c.Params)
	assert.Len(t, c.Witnesses, 2)
}

func TestAnUnknownNameIsAnError(t *testing.T) {
	_, err := golden.Named("three")
	assert.ErrorContains(t, err, `no case "three"`)
}
