//go:build unix

// Package plainfile reads and writes regular files, and refuses whatever else
// stands under their names. Opening one ends in bounded time: a pipe without a
// reader or a writer is refused, a lease of another process is waited for only
// so long. Nothing here uses the Go runtime's poller, which takes descriptors
// of its own and ends the process when it gets none.
package plainfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/libcuzk/libcuzk/internal/sentinel"
)

// ErrNotRegular is returned for a folder, a pipe, a device and the like.
var ErrNotRegular = errors.New("not a regular file")

// File is an open regular file. Its methods may be called from many goroutines
// until Close.
type File struct {
	name string

	closing sync.RWMutex
	fd      int // guarded by closing; negative when closed
}

// Open opens a file that is there for reading. The path may be a link.
func Open(path string) (*File, error) { return open(path, unix.O_RDONLY, 0) }

// OpenOwn opens a file for reading, or makes it with the mode if there is none.
// A symbolic link at the end of the path is refused: others may have put it
// there, if the name can be known beforehand.
func OpenOwn(path string, mode uint32) (*File, error) {
	// Not with O_CREAT at once: in a folder with the sticky bit the system
	// refuses that for a file of another user (fs.protected_regular).
	f, err := open(path, unix.O_RDONLY|unix.O_NOFOLLOW, 0)
	if errors.Is(err, unix.ENOENT) {
		f, err = open(path, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_CREAT, mode)
	}
	return f, err
}

// Create makes a file, or empties it, for writing. A symbolic link at the end
// of the path is refused, as in OpenOwn.
func Create(path string, mode uint32) (*File, error) {
	f, err := open(path, unix.O_WRONLY|unix.O_NOFOLLOW|unix.O_CREAT, mode)
	if err != nil {
		return nil, err
	}
	// Not with O_TRUNC: only a regular file is to be emptied.
	if err := retry(func() error { return unix.Ftruncate(f.fd, 0) }); err != nil {
		return nil, errors.Join(f.failed("truncate", err), f.Close())
	}
	return f, nil
}

const (
	// maxLease is how long a lease of another process on the file is waited
	// for: its holder is told to give it up.
	maxLease      = 5 * time.Second
	leaseInterval = 10 * time.Millisecond
)

func open(path string, flags int, mode uint32) (*File, error) {
	fd, err := openLeased(path, flags|unix.O_NONBLOCK|unix.O_CLOEXEC|unix.O_NOCTTY, mode)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: explain(err, flags)}
	}
	f := &File{name: path, fd: fd}
	stat, err := f.Stat()
	if err == nil && stat.Mode&unix.S_IFMT != unix.S_IFREG {
		err = f.failed("open", fmt.Errorf("%w (%s)", ErrNotRegular, typeOf(stat)))
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// openLeased opens a file, and asks again while another process has a lease.
func openLeased(path string, flags int, mode uint32) (fd int, err error) {
	for begin := time.Now(); ; time.Sleep(leaseInterval) {
		err = retry(func() error {
			fd, err = unix.Open(path, flags, mode)
			return err
		})
		if !errors.Is(err, unix.EAGAIN) || time.Since(begin) > maxLease {
			return fd, err
		}
	}
}

// explain adds to the system's error what it means here.
func explain(err error, flags int) error {
	switch {
	case errors.Is(err, unix.EMFILE), errors.Is(err, unix.ENFILE):
		return sentinel.Wrap(sentinel.ErrHostMemory, err)
	case errors.Is(err, unix.EAGAIN):
		return fmt.Errorf("another process has a lease on the file and has not given it up within %s: %w", maxLease, err)
	case errors.Is(err, unix.ELOOP) && flags&unix.O_NOFOLLOW != 0:
		return fmt.Errorf("%w (symbolic link)", ErrNotRegular)
	case errors.Is(err, unix.ENXIO):
		return fmt.Errorf("%w (pipe or socket)", ErrNotRegular)
	}
	return err
}

func typeOf(stat *unix.Stat_t) string {
	switch stat.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		return "folder"
	case unix.S_IFIFO:
		return "pipe"
	case unix.S_IFSOCK:
		return "socket"
	case unix.S_IFCHR, unix.S_IFBLK:
		return "device"
	}
	return fmt.Sprintf("type %#o", stat.Mode&unix.S_IFMT)
}

// Name is the path that the file was opened by.
func (f *File) Name() string { return f.name }

// Stat is what the system says about the file.
func (f *File) Stat() (*unix.Stat_t, error) {
	var stat unix.Stat_t
	err := f.use(func(fd int) error { return unix.Fstat(fd, &stat) })
	if err != nil {
		return nil, f.failed("stat", err)
	}
	return &stat, nil
}

// ReadAt implements io.ReaderAt.
func (f *File) ReadAt(b []byte, offset int64) (n int, err error) {
	for n < len(b) {
		var got int
		err := f.use(func(fd int) (err error) {
			got, err = unix.Pread(fd, b[n:], offset+int64(n))
			return err
		})
		if err != nil {
			return n, f.failed("read", err)
		}
		if got == 0 {
			return n, io.EOF
		}
		n += got
	}
	return n, nil
}

// Write implements io.Writer.
func (f *File) Write(b []byte) (n int, err error) {
	for n < len(b) {
		var put int
		err := f.use(func(fd int) (err error) {
			put, err = unix.Write(fd, b[n:])
			return err
		})
		if err != nil {
			return n, f.failed("write", err)
		}
		n += put
	}
	return n, nil
}

// Flock locks or unlocks the file, as flock(2) says.
func (f *File) Flock(how int) error {
	return f.use(func(fd int) error { return unix.Flock(fd, how) })
}

// Close closes the file, once; later calls do nothing.
func (f *File) Close() error {
	f.closing.Lock()
	defer f.closing.Unlock()
	if f.fd < 0 {
		return nil
	}
	fd := f.fd
	f.fd = -1
	// Never again after EINTR: Linux has closed it then.
	if err := unix.Close(fd); err != nil && !errors.Is(err, unix.EINTR) {
		return f.failed("close", err)
	}
	return nil
}

// use calls system with the descriptor, again while signals interrupt it.
func (f *File) use(system func(fd int) error) error {
	f.closing.RLock()
	defer f.closing.RUnlock()
	if f.fd < 0 {
		return fs.ErrClosed
	}
	return retry(func() error { return system(f.fd) })
}

func retry(system func() error) error {
	for {
		if err := system(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

func (f *File) failed(op string, err error) error {
	return &fs.PathError{Op: op, Path: f.name, Err: err}
}

// ReadAll is the content of a file that is there, at the most limit bytes; one
// that is longer is an error. Files of /proc, whose length is not known, too.
func ReadAll(path string, limit int64) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(io.NewSectionReader(f, 0, limit+1))
	if err == nil && int64(len(content)) > limit {
		err = f.failed("read", fmt.Errorf("longer than %d bytes", limit))
	}
	return content, errors.Join(err, f.Close())
}
