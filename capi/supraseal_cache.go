package main

import (
	"errors"
	"slices"
	"sync"

	"github.com/libcuzk/libcuzk/engine"
)

// maxCachedSets is the size of supraseal's own cache.
const maxCachedSets = 4

// suprasealSets is the cache behind create_SRS with cache set.
var suprasealSets setCache

// setCache keeps the sets of the last few paths open. The path is compared as
// it was given.
type setCache struct {
	mu      sync.Mutex
	entries []suprasealSRS // guarded by mu; least recently used first; one reference each
}

// open returns a handle of the set of path, with a reference for the caller. No
// lock is held while the file is read: two threads may read the same one, and
// the engine shares what they get.
func (c *setCache) open(path string) (uint64, error) {
	if h, ok, err := c.lookup(path); ok || err != nil {
		return h, err
	}
	h, err := openSRS(path, engine.SRSOptions{})
	if err != nil {
		return 0, err
	}
	if err := c.insert(path, h); err != nil {
		return 0, errors.Join(err, releaseSRS(h))
	}
	return h, nil
}

// lookup returns the handle of path with a reference for the caller, if path is
// in the cache.
func (c *setCache) lookup(path string) (h uint64, ok bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := c.indexLocked(path)
	if i < 0 {
		return 0, false, nil
	}
	entry := c.entries[i]
	c.entries = append(slices.Delete(c.entries, i, i+1), entry)
	return entry.srs, true, srsHandles.retain(entry.srs)
}

// insert adds a set, and releases the one that has to go for it: not under the
// lock, since freeing a set takes long.
func (c *setCache) insert(path string, h uint64) error {
	oldest, full, err := c.add(path, h)
	if err != nil || !full {
		return err
	}
	return releaseSRS(oldest)
}

// add returns the set that has to go if the cache is full.
func (c *setCache) add(path string, h uint64) (oldest uint64, full bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.indexLocked(path) >= 0 {
		return 0, false, nil // another thread was faster
	}
	if err := srsHandles.retain(h); err != nil {
		return 0, false, err
	}
	c.entries = append(c.entries, suprasealSRS{srs: h, path: path})
	if len(c.entries) <= maxCachedSets {
		return 0, false, nil
	}
	oldest = c.entries[0].srs
	c.entries = slices.Delete(c.entries, 0, 1)
	return oldest, true, nil
}

// evict releases the set of path, if it is there.
func (c *setCache) evict(path string) error {
	h, ok := c.take(path)
	if !ok {
		return nil
	}
	return releaseSRS(h)
}

// take removes the set of path from the cache, and returns it if it was there.
func (c *setCache) take(path string) (h uint64, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := c.indexLocked(path)
	if i < 0 {
		return 0, false
	}
	h = c.entries[i].srs
	c.entries = slices.Delete(c.entries, i, i+1)
	return h, true
}

func (c *setCache) indexLocked(path string) int {
	return slices.IndexFunc(c.entries, func(e suprasealSRS) bool { return e.path == path })
}
