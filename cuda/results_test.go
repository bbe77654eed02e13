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
	require.NoError(t, s.Watch.Do(func(b *driver.Bound) (err error) {
		for i := range buffers {
			if buffers[i], err = s.Results.Take(b); err != nil {
				return err
			}
		}
		return nil
	}))
	release := func() error { return s.Watch.Do(s.Results.Release) }

	var both sync.WaitGroup
	both.Go(func() { s.Results.Put(buffers[0]) })
	both.Go(func() { assert.NoError(t, release()) })
	both.Wait()

	s.Results.Put(buffers[1])
	// Counted, since a failure would print what is no memory any more.
	assert.Zero(t, len(s.Results.Free))
	assert.Zero(t, len(s.Results.All))
}
