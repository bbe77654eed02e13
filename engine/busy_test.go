package engine

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/engine/backend"
)

// TestBusyDevice opens a device that other processes hold too much of, which
// its provider notices after a second.
func TestBusyDevice(t *testing.T) {
	const attempt = time.Second
	for name, test := range map[string]struct {
		wait, free, cancel time.Duration // how long to wait; when there is room; when the caller gives up
		want               error
		text               string
		took               time.Duration
	}{
		"fails at once":              {0, time.Hour, time.Hour, errScripted, "opening cuda 0 (cuda device): scripted", attempt},
		"waits until there is room":  {time.Minute, 30 * time.Second, time.Hour, nil, "", 30 * time.Second},
		"fails when it has waited":   {time.Minute, time.Hour, time.Hour, errScripted, "waited 1m0s for other processes", time.Minute},
		"stops when the caller does": {time.Hour, time.Hour, 5500 * time.Millisecond, errScripted, "waited 6s", 6 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScripted(backend.CUDA, 1)
				begin := time.Now()
				var attempts atomic.Int64
				s.opening = func() error {
					attempts.Add(1)
					time.Sleep(attempt)
					if time.Since(begin) >= test.free {
						return nil
					}
					return &backend.BusyError{Wait: test.wait, Err: errScripted}
				}
				e, err := New(Config{Providers: []backend.Provider{s}})
				require.NoError(t, err)
				ctx, stop := context.WithTimeout(t.Context(), test.cancel)
				defer stop()
				_, done, err := e.all()[0].use(ctx)
				if test.want == nil {
					require.NoError(t, err)
					done()
				} else {
					require.ErrorIs(t, err, test.want)
					require.ErrorContains(t, err, test.text)
				}
				assert.Equal(t, test.took, time.Since(begin))
				assert.EqualValues(t, test.took/attempt, attempts.Load())
				require.NoError(t, e.Close())
			})
		})
	}
}
