package srs

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/libcuzk/libcuzk/internal/plainfile"
)

// Open opens a parameter file, checks its counts and its verifying key, and
// leaves the points for Points or ReadSection. Give the result back with
// Release.
//
// A file that is open already with the same options (the same device, inode,
// length, modification and change time, whatever its path) is not opened again: the
// result is the same Params with one more reference.
//
// Fails with ErrRead, ErrTruncated, ErrTrailing, ErrCounts, ErrChanged, or
// what is wrong with a point of the verifying key.
func Open(path string, options Options) (*Params, error) {
	f, err := openFile(path)
	if err != nil {
		return nil, fmt.Errorf("srs: %s: %w", path, err)
	}
	return opened.get(f, path, options)
}

// file is an open parameter file and what identified it when it was opened.
type file struct {
	*plainfile.File
	id identity
}

// identity tells files, and states of a file, apart. The inode cannot be given
// to another file while the descriptor is open.
type identity struct {
	device, inode uint64
	size          int64
	modifiedNs    int64 // since 1970
	// changedNs is when anything about the file was changed, its name and its
	// modification time too: it tells a file apart that was written in place and
	// given back its old time.
	changedNs int64
}

func openFile(path string) (*file, error) {
	f, err := plainfile.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRead, err)
	}
	id, err := identify(f)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &file{f, id}, nil
}

func identify(f *plainfile.File) (identity, error) {
	stat, err := f.Stat()
	if err != nil {
		return identity{}, fmt.Errorf("%w: %w", ErrRead, err)
	}
	return identity{
		device: uint64(stat.Dev), inode: stat.Ino,
		size: stat.Size, modifiedNs: stat.Mtim.Nano(), changedNs: stat.Ctim.Nano(),
	}, nil
}

func (id identity) written() string {
	return time.Unix(0, id.modifiedNs).UTC().Format(time.RFC3339Nano)
}

func (f *file) Size() int64 { return f.id.size }

func (f *file) Unchanged() error {
	now, err := identify(f.File)
	if err != nil {
		return err
	}
	now.changedNs = f.id.changedNs // the file may be deleted or given another name meanwhile
	if now != f.id {
		return fmt.Errorf("it had %d bytes, written at %s, when opened; now %d bytes, written at %s: %w",
			f.id.size, f.id.written(), now.size, now.written(), ErrChanged)
	}
	return nil
}

// opened are the files that are open in this process.
var opened = table{entries: map[key]*entry{}}

type key struct {
	identity
	Options
}

type table struct {
	mu      sync.Mutex
	entries map[key]*entry // guarded by mu
}

// entry is a set that is being opened, and is open once ready is closed. A
// failed entry is taken out of the table before that.
type entry struct {
	ready  chan struct{}
	params *Params // set before ready is closed; nil if opening failed
}

// get gives the set that is open for f, else opens it. It takes over f.
func (t *table) get(f *file, path string, options Options) (*Params, error) {
	k := key{f.id, options}
	for {
		t.mu.Lock()
		e, ok := t.entries[k]
		if !ok {
			e = &entry{ready: make(chan struct{})}
			t.entries[k] = e
			t.mu.Unlock()
			return t.open(k, e, f, path, options)
		}
		t.mu.Unlock()

		<-e.ready
		if e.params != nil && e.params.Retain() == nil {
			if err := f.Close(); err != nil {
				return nil, errors.Join(fmt.Errorf("srs: %s: close: %w", path, err), e.params.Release())
			}
			return e.params, nil
		}
		// Opening failed, or the last reference went in between.
		t.remove(k, e)
	}
}

func (t *table) open(k key, e *entry, f *file, path string, options Options) (*Params, error) {
	defer close(e.ready)
	p := newParams(path, options)
	if err := p.open(f); err != nil {
		t.remove(k, e)
		return nil, errors.Join(err, f.Close())
	}
	p.onFree = func() { t.remove(k, e) }
	e.params = p
	return p, nil
}

// remove takes e out, unless another has taken its place already.
func (t *table) remove(k key, e *entry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.entries[k] == e {
		delete(t.entries, k)
	}
}
