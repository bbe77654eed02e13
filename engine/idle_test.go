package engine

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/engine/backend"
)

func TestIdleDevices(t *testing.T) {
	for name, c := range map[string]struct {
		backend string
		after   time.Duration
		closes  int64
	}{
		"a GPU is closed":         {backend.CUDA, time.Minute, 1},
		"not without the setting": {backend.CUDA, 0, 0},
		"and never the processor": {backend.CPU, time.Minute, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScripted(c.backend, 1)
				s.script = func(context.Context, *backend.Partition) error {
					time.Sleep(3 * time.Minute) // longer than the idle time: a job in hand is no idleness
					return nil
				}
				e, err := New(Config{Providers: []backend.Provider{s}, CloseIdle: c.after})
				require.NoError(t, err)
				b := &bench{Engine: e}
				b.set, b.part = openCase(t, e)
				for range 3 {
					_, err := b.start(t, 1, any1()).Wait(t.Context())
					require.NoError(t, err)
					time.Sleep(50 * time.Second)
				}
				assert.Zero(t, s.closes.Load())
				time.Sleep(time.Minute)
				synctest.Wait()
				assert.Equal(t, c.closes, s.closes.Load())

				loads := s.loads.Load()
				_, err = b.start(t, 1, any1()).Wait(t.Context())
				require.NoError(t, err)
				assert.Equal(t, loads+c.closes, s.loads.Load(), "a device that is opened again loads its parameters again")
				require.NoError(t, b.set.Release())
				require.NoError(t, e.Close())
				assert.Equal(t, c.closes+1, s.closes.Load())
			})
		})
	}
}
