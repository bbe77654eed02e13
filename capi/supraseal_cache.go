package main

import (
	"errors"
	"slices"
	"sync"

	"github.com/libcuzk/libcuzk/engine"
)

// maxCachedSets is supraseal's.
const maxCachedSets = 4

// suprasealSets is the cache behind create_SRS with cache set.
var suprasealSets setCache

// setCache keeps the sets of the last few paths open. The path is compared as
// it was given.
type setCache struct {
	mu      sync.Mutex
	entries []suprasealSRS // guarded by mu; least recently used first; one reference each
}

// open returns the set of path with a reference for the caller. No lock is
// held while the file is read: two threads may read the same one, and the
// engine shares what they get.
func (c *setCache) open(path string) (*engine.SRS, error) {
	if set, err := c.lookup(path); set != nil || err != nil {
		return set, err
	}
	set, err := openSRS(path, engine.SRSOptions{})
	if err != nil {
		return nil, err
	}
	if err := c.insert(path, set); err != nil {
		return nil, errors.Join(err, set.Release())
	}
	return set, nil
}

func (c *setCache) lookup(path string) (*engine.SRS, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := c.indexLocked(path)
	if i < 0 {
		return nil, nil
	}
	entry := c.entries[i]
	c.entries = append(slices.Delete(c.entries, i, i+1), entry)
	return entry.set, entry.set.Retain()
}

// insert adds a set, and releases the one that has to go for it: not under the
// lock, since to free a set takes its time.
func (c *setCache) insert(path string, set *engine.SRS) error {
	oldest, err := c.add(path, set)
	if oldest == nil {
		return err
	}
	return oldest.Release()
}

// add returns the set that has to go, nil for none.
func (c *setCache) add(path string, set *engine.SRS) (oldest *engine.SRS, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.indexLocked(path) >= 0 {
		return nil, nil // another thread was faster
	}
	if err := set.Retain(); err != nil {
		return nil, err
	}
	c.entries = append(c.entries, suprasealSRS{set: set, path: path})
	if len(c.entries) <= maxCachedSets {
		return nil, nil
	}
	oldest = c.entries[0].set
	c.entries = slices.Delete(c.entries, 0, 1)
	return oldest, nil
}

// evict gives up the set of path, if it is there.
func (c *setCache) evict(path string) error {
	set := c.take(path)
	if set == nil {
		return nil
	}
	return set.Release()
}

// take removes the set of path and returns it, nil for none.
func (c *setCache) take(path string) *engine.SRS {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := c.indexLocked(path)
	if i < 0 {
		return nil
	}
	set := c.entries[i].set
	c.entries = slices.Delete(c.entries, i, i+1)
	return set
}

func (c *setCache) indexLocked(path string) int {
	return slices.IndexFunc(c.entries, func(e suprasealSRS) bool { return e.path == path })
}
