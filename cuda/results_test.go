package cuda

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/cuda/driver"
	"github.com/libcuzk/libcuzk/tests/cudasim"
)

// TestResultsOfACardThatIsReset gives buffers back while all are unpinned, as a
// job does whose card another job resets as soon as all have ended: none that is
// unpinned is kept for later.
func TestResultsOfACardThatIsReset(t *testing.T) {
	d, _ := open(t, Options{}, cudasim.Config{})
	s := d.current.Load()
	var buffers [2][]byte
	require.NoError(t, s.watch.Do(func(b *driver.Bound) (err error) {
		for i := range buffers {
			if buffers[i], err = s.results.take(b); err != nil {
				return err
			}
		}
		return nil
	}))
	release := func() error { return s.watch.Do(s.results.release) }

	var both sync.WaitGroup
	both.Go(func() { s.results.put(buffers[0]) })
	both.Go(func() { assert.NoError(t, release()) })
	both.Wait()

	s.results.put(buffers[1])
	// Counted, since a failure would print what is no memory any more.
	assert.Zero(t, len(s.results.free))
	assert.Zero(t, len(s.results.all))
}
