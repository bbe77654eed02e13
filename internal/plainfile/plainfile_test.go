//go:build unix

package plainfile

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/libcuzk/libcuzk/internal/sentinel"
)

// ways are all ways to open a file.
var ways = map[string]func(path string) (*File, error){
	"read":       Open,
	"read own":   func(path string) (*File, error) { return OpenOwn(path, 0o600) },
	"write":      func(path string) (*File, error) { return Create(path, 0o600) },
	"read whole": func(path string) (*File, error) { _, err := ReadAll(path, 10); return nil, err },
}

func TestOnlyRegularFilesAreOpened(t *testing.T) {
	folder := t.TempDir()
	named := func(name string) string { return filepath.Join(folder, name) }
	require.NoError(t, unix.Mkfifo(named("pipe"), 0o600))
	require.NoError(t, os.Mkdir(named("folder"), 0o700))
	socket, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	require.NoError(t, err)
	defer unix.Close(socket)
	require.NoError(t, unix.Bind(socket, &unix.SockaddrUnix{Name: named("socket")}))
	for name, open := range ways {
		for _, path := range []string{named("pipe"), named("folder"), named("socket"), "/dev/zero"} {
			t.Run(name+" "+filepath.Base(path), func(t *testing.T) {
				_, err := open(path)
				assert.ErrorContains(t, err, path)
				if path != named("folder") || name != "write" { // EISDIR says as much
					assert.ErrorIs(t, err, ErrNotRegular)
				}
			})
		}
	}
}

// Names that others know beforehand are not followed anywhere, and what is
// there stays as it is.
func TestLinksUnderOwnNamesAreRefused(t *testing.T) {
	target, link := filepath.Join(t.TempDir(), "target"), filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.WriteFile(target, []byte("kept"), 0o600))
	require.NoError(t, os.Symlink(target, link))
	for _, name := range []string{"read own", "write"} {
		_, err := ways[name](link)
		assert.ErrorIs(t, err, ErrNotRegular, name)
	}
	content, err := ReadAll(link, 10)
	require.NoError(t, err, "a path that a user names may be a link")
	assert.Equal(t, "kept", string(content))
}

func TestReadAndWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(path, []byte("what was there before"), 0o600))
	f, err := Create(path, 0o600)
	require.NoError(t, err)
	_, err = f.Write([]byte("12345"))
	require.NoError(t, err)
	require.NoError(t, f.Close())
	require.NoError(t, f.Close(), "again")
	_, err = f.Write([]byte("6"))
	assert.ErrorIs(t, err, fs.ErrClosed)

	content, err := ReadAll(path, 5)
	require.NoError(t, err)
	assert.Equal(t, "12345", string(content))
	_, err = ReadAll(path, 4)
	assert.ErrorContains(t, err, "longer than 4 bytes")
	maps, err := ReadAll("/proc/self/maps", 1<<24)
	require.NoError(t, err)
	assert.NotEmpty(t, maps, "a file whose length is not known")
}

// A process that runs out of descriptors is told so, whichever way a file is
// opened.
func TestNoDescriptorIsLeft(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	var before unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &before))
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 0, Max: before.Max}))
	failures := map[string]error{}
	for name, open := range ways {
		_, failures[name] = open(path)
	}
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &before))
	for name, err := range failures {
		assert.ErrorIs(t, err, syscall.EMFILE, name)
		assert.ErrorIs(t, err, sentinel.ErrHostMemory, name)
	}
}

// A lease that is given up in time is none; one that is kept is said to be one,
// in bounded time.
func TestLeases(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	lease := func() *os.File {
		f, err := os.Create(path)
		require.NoError(t, err)
		_, err = unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_WRLCK)
		require.NoError(t, err)
		return f
	}
	given := lease()
	go func() {
		time.Sleep(10 * leaseInterval)
		_ = given.Close()
	}()
	f, err := Open(path)
	require.NoError(t, err)
	require.NoError(t, f.Close())

	kept := lease()
	defer kept.Close()
	_, err = Open(path)
	assert.ErrorContains(t, err, "another process has a lease")
}
