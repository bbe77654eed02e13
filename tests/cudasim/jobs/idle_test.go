//go:build linux && (amd64 || arm64)

package jobs

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/cuda"
	"github.com/libcuzk/libcuzk/engine"
	"github.com/libcuzk/libcuzk/engine/backend"
	"github.com/libcuzk/libcuzk/tests/cudasim"
	"github.com/libcuzk/libcuzk/tests/golden"
)

// TestIdleDevice gives memory back when nothing was done for a while, then the
// context, and proves again with both made anew.
func TestIdleDevice(t *testing.T) {
	const idle = 50 * time.Millisecond
	prove := func(t *testing.T, e *engine.Engine, k known) {
		t.Helper()
		job, err := e.Start(t.Context(), k.set, k.parts, engine.DefaultProveOptions())
		require.NoError(t, err)
		proofs, err := job.Wait(t.Context())
		require.NoError(t, err)
		assert.Equal(t, k.want, proofs)
	}
	c, err := golden.Named("two")
	require.NoError(t, err)
	for name, test := range map[string]struct {
		memory, context time.Duration
		idle            func(engine.DeviceMetrics) bool
	}{
		"its memory":  {idle, 0, func(m engine.DeviceMetrics) bool { return m.BudgetBytes > 0 && m.MappedBytes == 0 && m.SetBytes == 0 }},
		"its context": {0, idle, func(m engine.DeviceMetrics) bool { return m.BudgetBytes == 0 }},
	} {
		t.Run(name, func(t *testing.T) {
			cudasim.New(t, cudasim.Config{Declared: true})
			e, err := engine.New(engine.Config{
				Providers: []backend.Provider{cuda.NewProvider(cuda.Options{IdleAfter: test.memory})},
				CloseIdle: test.context,
			})
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, e.Close()) })
			k := load(t, e, c)
			for range 3 {
				prove(t, e, k)
				require.Eventually(t, func() bool { return test.idle(e.Metrics().Devices[0]) }, time.Minute, idle/5)
			}
		})
	}
}
