package srs

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/tests/golden"
)

// copyOf is a file of parameters that a test may write to, and what is in it.
func copyOf(t *testing.T, name string) (path string, data []byte) {
	t.Helper()
	c, err := golden.Named(name)
	require.NoError(t, err)
	data, err = os.ReadFile(c.Params)
	require.NoError(t, err)
	path = filepath.Join(t.TempDir(), name+".params")
	require.NoError(t, os.WriteFile(path, data, 0o600))
	return path, data
}

// cp -p and rsync -t give a file that they write in place its old length and time.
func TestAFileWrittenInPlaceWithItsOldTimeIsAnother(t *testing.T) {
	path, data := copyOf(t, "two")
	info, err := os.Stat(path)
	require.NoError(t, err)
	before, err := Open(path, Options{})
	require.NoError(t, err)
	time.Sleep(20 * time.Millisecond) // more than the file system's clock needs for a step

	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = f.Write(data)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	require.NoError(t, os.Chtimes(path, info.ModTime(), info.ModTime()))
	after, err := Open(path, Options{})
	require.NoError(t, err)
	assert.NotSame(t, before, after)
	require.NoError(t, before.Release())
	require.NoError(t, after.Release())
}

// What is no parameter file is said to be what it looks like.
func TestWhatAFileLooksLike(t *testing.T) {
	_, data := copyOf(t, "two")
	half := bytes.Clone(data)
	clear(half[len(half)/2:])
	for name, file := range map[string]struct {
		content []byte
		text    string
	}{
		"text":                       {bytes.Repeat([]byte("root:x:0:0:root:/root:/bin/sh\n"), 100), "it looks like a text file"},
		"a short text":               {[]byte("version https://git-lfs.github.com/spec/v1\n"), "it looks like a text file"},
		"a verifying key":            {keyAlone(data), "it looks like a verifying key"},
		"half downloaded, full size": {half, "as in a file that was not downloaded to its end"},
		"reserved and not written":   {make([]byte, len(data)), "as in a file that was not downloaded to its end"},
	} {
		path := filepath.Join(t.TempDir(), "file")
		require.NoError(t, os.WriteFile(path, file.content, 0o600))
		p, err := Open(path, Options{})
		if err == nil {
			_, err = p.Points(t.Context())
			require.NoError(t, p.Release())
		}
		assert.ErrorContains(t, err, file.text, name)
	}
}

// keyAlone is what VerifyingKey::write makes of the key that data begins with.
func keyAlone(data []byte) []byte {
	return data[:headerBytes+countBytes+int(data[headerBytes+countBytes-1])*G1Bytes]
}
