package synth

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// chunk is how many elements a goroutine takes at a time; a multiple of 64, so
// that no two share a word of a density.
const chunk = 1 << 12

// inChunks calls work for [0, n) in chunks, on all cores.
func inChunks(n int, work func(start, end int)) {
	inParallel((n+chunk-1)/chunk, func(i int) {
		work(i*chunk, min((i+1)*chunk, n))
	})
}

// inParallel calls work for each of 0 .. n-1, on all cores.
func inParallel(n int, work func(i int)) {
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), n) {
		group.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				work(i)
			}
		})
	}
	group.Wait()
}
