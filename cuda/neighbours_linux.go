package cuda

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/libcuzk/libcuzk/internal/environ"
	"github.com/libcuzk/libcuzk/internal/plainfile"
	"github.com/libcuzk/libcuzk/internal/sched"
)

// askInterval is how often a process looks whether it is its turn to wait for
// memory.
const askInterval = 10 * time.Millisecond

// neighbours are the processes that use a card through this library and see
// the same temporary folder. The one that waits for memory holds an exclusive
// lock on a file that is named after the card; who dies lets go of it.
type neighbours struct {
	asks, looks *plainfile.File // the same file, opened twice: locks belong to an opening
	asking      atomic.Bool
	once        sync.Once
	failed      error // of closing; written by once
}

// neighboursOf opens the card's file. It is nil if there is none and it cannot
// be made: without it processes still wait for memory, but nobody makes room.
func neighboursOf(card [16]byte) sched.Neighbours {
	path := filepath.Join(environ.TempDir(), fmt.Sprintf("libcuzk-gpu-%x.lock", card))
	asks, err := openShared(path)
	if err != nil {
		return nil
	}
	looks, err := openShared(path)
	if err != nil {
		_ = asks.Close()
		return nil
	}
	return &neighbours{asks: asks, looks: looks}
}

// openShared opens a file that any user may lock, and makes it if need be.
// Nothing is ever written there. Any user may also have made something else of
// that name: then there is no file.
func openShared(path string) (*plainfile.File, error) {
	const everybodyReads = 0o444
	return plainfile.OpenOwn(path, everybodyReads)
}

// Ask implements sched.Neighbours.
func (n *neighbours) Ask(ctx context.Context) (release func(), err error) {
	for {
		locked, err := tryLock(n.asks, unix.LOCK_EX)
		if err != nil {
			return func() {}, err
		}
		if locked {
			n.asking.Store(true)
			return func() {
				n.asking.Store(false)
				unlock(n.asks)
			}, nil
		}
		timer := time.NewTimer(askInterval)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return func() {}, context.Cause(ctx)
		}
	}
}

// Asked implements sched.Neighbours.
func (n *neighbours) Asked() bool {
	if n.asking.Load() {
		return false
	}
	locked, err := tryLock(n.looks, unix.LOCK_SH)
	if locked {
		unlock(n.looks)
	}
	return !locked && err == nil
}

func tryLock(f *plainfile.File, how int) (bool, error) {
	err := f.Flock(how | unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("cuda: locking %s: %w", f.Name(), err)
	}
	return true, nil
}

// unlock cannot fail on a file that is open and locked.
func unlock(f *plainfile.File) { _ = f.Flock(unix.LOCK_UN) }

// Close implements sched.Neighbours. A second call does nothing.
func (n *neighbours) Close() error {
	n.once.Do(func() { n.failed = errors.Join(n.asks.Close(), n.looks.Close()) })
	return n.failed
}
