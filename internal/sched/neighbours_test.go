package sched

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/internal/vram"
)

// simNeighbours are the processes of a test; one of them waits at a time.
type simNeighbours struct {
	turn    chan struct{} // holds one token while somebody waits
	waiting atomic.Pointer[simNeighbour]
}

type simNeighbour struct{ all *simNeighbours }

func newNeighbours() *simNeighbours { return &simNeighbours{turn: make(chan struct{}, 1)} }

func (n *simNeighbour) Ask(ctx context.Context) (func(), error) {
	select {
	case n.all.turn <- struct{}{}:
		n.all.waiting.Store(n)
		return func() { n.all.waiting.Store(nil); <-n.all.turn }, nil
	case <-ctx.Done():
		return func() {}, context.Cause(ctx)
	}
}

func (n *simNeighbour) Asked() bool {
	who := n.all.waiting.Load()
	return who != nil && who != n
}

func (n *simNeighbour) Close() error { return nil }

// simShared is a device whose memory is shared with another one's.
type simShared struct {
	*simDevice
	memory *simMemory
}

type simMemory struct {
	mu   sync.Mutex
	free uint64 // guarded by mu
}

func (d *simShared) Map(offset, bytes uint64) error {
	d.memory.mu.Lock()
	defer d.memory.mu.Unlock()
	if d.memory.free < bytes {
		return ErrNoMemory
	}
	d.memory.free -= bytes
	return d.simDevice.Map(offset, bytes)
}

func (d *simShared) Unmap(offset, bytes uint64) error {
	d.memory.mu.Lock()
	defer d.memory.mu.Unlock()
	d.memory.free += bytes
	return d.simDevice.Unmap(offset, bytes)
}

const shared = 8 * vram.Granule

// twoProcesses are schedulers on one card, each of which plans with all of it.
func twoProcesses(t *testing.T, wait time.Duration) (both [2]*Scheduler, memory *simMemory) {
	memory = &simMemory{free: shared}
	n := newNeighbours()
	for i := range both {
		s, err := New(&simShared{newSimDevice(shared), memory}, Config{
			Budget: shared, Chunk: vram.Granule, MemoryWait: wait, Neighbours: &simNeighbour{n}, Pause: time.Sleep,
		})
		require.NoError(t, err)
		both[i] = s
	}
	return both, memory
}

func needs(granules uint64, set *vram.Set) vram.Need {
	return vram.Need{Resident: []vram.Request{{Bytes: granules * vram.Granule, Exact: true}}, Set: set}
}

func holdFor(d time.Duration) Work {
	return Work{
		Fill: func(context.Context, *Loading) error { return nil },
		Compute: func(context.Context, *Ticket) error {
			time.Sleep(d)
			return nil
		},
	}
}

func TestTwoProcessesShareACard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		both, memory := twoProcesses(t, time.Hour)
		const workers, jobs = 3, 20
		var group sync.WaitGroup
		for p, s := range both {
			set := vram.NewSet("set", 2*vram.Granule)
			for range workers {
				group.Go(func() {
					for i := range jobs {
						// Up to all of the card, so that both cannot work at once.
						err := s.Run(t.Context(), needs(uint64(1+(i+p)%6), set), holdFor(time.Millisecond))
						assert.NoError(t, err)
					}
				})
			}
		}
		group.Wait()
		for _, s := range both {
			require.NoError(t, s.Close(t.Context()))
		}
		assert.EqualValues(t, shared, memory.free)
	})
}

func TestANeighbourThatGivesNothingBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		both, _ := twoProcesses(t, 3*time.Second)
		var group sync.WaitGroup
		group.Go(func() {
			assert.NoError(t, both[0].Run(t.Context(), needs(6, nil), holdFor(10*time.Second)))
		})
		time.Sleep(time.Second)
		begin := time.Now()
		err := both[1].Run(t.Context(), needs(4, nil), holdFor(0))
		require.ErrorIs(t, err, ErrNoMemory)
		assert.ErrorContains(t, err, "waited 3s")
		assert.InDelta(t, 3, time.Since(begin).Seconds(), 0.1)
		assert.Zero(t, both[1].Stats().Mapped, "it keeps nothing of what it could not use")

		// The same wait is long enough later on.
		time.Sleep(5 * time.Second)
		require.NoError(t, both[1].Run(t.Context(), needs(4, nil), holdFor(0)))
		group.Wait()
		for _, s := range both {
			require.NoError(t, s.Close(t.Context()))
		}
	})
}

func TestIdleSetsAreGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := New(newSimDevice(shared), Config{Budget: shared, Chunk: vram.Granule, IdleAfter: time.Minute, Pause: time.Sleep})
		require.NoError(t, err)
		set := vram.NewSet("set", 2*vram.Granule)
		loads := 0
		prove := func() {
			work := holdFor(time.Millisecond)
			work.Fill = func(context.Context, *Loading) error { loads++; return nil }
			require.NoError(t, s.Run(t.Context(), needs(1, set), work))
		}
		for range 5 {
			prove()
			time.Sleep(50 * time.Second)
		}
		assert.Equal(t, 1, loads, "a set in use stays")
		time.Sleep(3 * time.Minute)
		assert.Zero(t, s.Stats().Mapped)
		assert.Zero(t, s.Stats().Sets)
		prove()
		assert.Equal(t, 2, loads)
		require.NoError(t, s.Close(t.Context()))
	})
}

func TestASteadyStreamGivesWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		both, _ := twoProcesses(t, 10*time.Second)
		stop := make(chan struct{})
		var stream sync.WaitGroup
		set := vram.NewSet("set", vram.Granule)
		for range 2 {
			stream.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
						assert.NoError(t, both[0].Run(t.Context(), needs(1, set), holdFor(100*time.Millisecond)))
					}
				}
			})
		}
		time.Sleep(time.Second)
		assert.NoError(t, both[1].Run(t.Context(), needs(8, nil), holdFor(0)), "all of the card, between two jobs of the stream")
		before := both[0].Stats().Done
		time.Sleep(5 * time.Second)
		assert.Greater(t, both[0].Stats().Done, before, "the stream goes on")
		close(stop)
		stream.Wait()
		for _, s := range both {
			require.NoError(t, s.Close(t.Context()))
		}
	})
}

func TestAProcessThatAsksForMoreThanWeHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		both, memory := twoProcesses(t, time.Hour)
		memory.free -= 6 * vram.Granule // a stranger's
		ctx, stop := context.WithCancel(t.Context())
		var group sync.WaitGroup
		group.Go(func() {
			assert.ErrorIs(t, both[1].Run(ctx, needs(4, nil), holdFor(0)), context.Canceled)
		})
		time.Sleep(time.Minute)
		begin := time.Now()
		require.NoError(t, both[0].Run(t.Context(), needs(1, nil), holdFor(0)))
		assert.InDelta(t, giveWayFor.Seconds(), time.Since(begin).Seconds(), 0.1, "it does not wait with it")
		// Not once for each job: anybody may hold the lock for ever.
		begin = time.Now()
		for range 20 {
			require.NoError(t, both[0].Run(t.Context(), needs(1, nil), holdFor(0)))
		}
		assert.Less(t, time.Since(begin), giveWayFor)
		time.Sleep(giveWayAgain)
		begin = time.Now()
		require.NoError(t, both[0].Run(t.Context(), needs(1, nil), holdFor(0)))
		assert.InDelta(t, giveWayFor.Seconds(), time.Since(begin).Seconds(), 0.1, "now and then it asks whether that is enough")
		stop()
		group.Wait()
		for _, s := range both {
			require.NoError(t, s.Close(t.Context()))
		}
	})
}

func TestWhoAsksHoldsNoIdleMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		both, _ := twoProcesses(t, time.Hour)
		s := both[0]
		require.NoError(t, s.Run(t.Context(), needs(1, vram.NewSet("set", 2*vram.Granule)), holdFor(0)))
		require.NotZero(t, s.Stats().Mapped)
		release, err := s.ask(t.Context())
		require.NoError(t, err)
		assert.Zero(t, s.Stats().Mapped)
		assert.True(t, both[1].cfg.Neighbours.Asked())
		release()
		assert.False(t, both[1].cfg.Neighbours.Asked())
		for _, s := range both {
			require.NoError(t, s.Close(t.Context()))
		}
	})
}
