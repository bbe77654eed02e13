package sched

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/engine/timeline"
	"github.com/libcuzk/libcuzk/internal/vram"
)

func TestTimelineShowsTurnsAndLocks(t *testing.T) {
	tracks := timeline.DeviceOf("test", 0, "sched")
	s, err := New(newSimDevice(8*vram.Granule), Config{Budget: 8 * vram.Granule, Chunk: vram.Granule, Tracks: tracks})
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "t.json")
	require.NoError(t, timeline.Start(path))
	err = s.Run(t.Context(), vram.Need{Resident: []vram.Request{{Bytes: vram.Granule}}}, Work{
		Compute: func(ctx context.Context, ticket *Ticket) error {
			return ticket.Enqueue(ctx, Compute, func() error {
				time.Sleep(2 * timeline.ShortHold)
				return nil
			}, 0)
		},
		Timeline: &timeline.Partition{Track: tracks.Track(timeline.Host, "worker 1"), Job: 5},
	})
	require.NoError(t, err)
	require.NoError(t, s.Close(t.Context()))
	require.NoError(t, timeline.Stop())

	text, err := os.ReadFile(path)
	require.NoError(t, err)
	for _, turn := range []string{"claim", "upload", "compute"} {
		assert.Equal(t, 1, strings.Count(string(text), `"name":"wait for the `+turn+` turn"`), turn)
	}
	assert.Contains(t, string(text), `"name":"compute lock"`)
	assert.Contains(t, string(text), `"name":"held","cat":"lock"`)
	assert.Contains(t, string(text), `"name":"memory lock"`)
}

// BenchmarkLock is the memory lock, uncontended, while no timeline is
// recorded and while one is.
func BenchmarkLock(b *testing.B) {
	l := &memLock{}
	l.track = timeline.DeviceOf("test", 0, "bench").Track(timeline.Lock, memLockName)
	held := 0
	hold := func() {
		l.Lock()
		defer l.Unlock()
		held++
	}
	b.Run("not recorded", func(b *testing.B) {
		for b.Loop() {
			hold()
		}
	})
	b.Run("recorded", func(b *testing.B) {
		require.NoError(b, timeline.Start(filepath.Join(b.TempDir(), "t.json")))
		for b.Loop() {
			hold()
		}
		b.StopTimer()
		require.NoError(b, timeline.Stop())
	})
}
