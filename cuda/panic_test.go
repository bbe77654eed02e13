package cuda

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/internal/circuits/synth"
	"github.com/libcuzk/libcuzk/tests/cudasim"
)

// TestAPanicAtEveryStep lets a job panic at each of its steps in turn, in both
// tiers: it gives everything back, and the next one on the same device is right.
func TestAPanicAtEveryStep(t *testing.T) {
	needsFaults(t)
	p := makeProven(t, synth.Dense(30, 3), 1)
	for name, o := range map[string]Options{
		"resident":  {ListScalars: 30}, // in rounds
		"streaming": {BudgetBytes: leastBudgetFor(t, Options{ListScalars: 30}, p), ListScalars: 30},
	} {
		t.Run(name, func(t *testing.T) {
			var left atomic.Int64 // steps before the panic; below 0: none
			left.Store(-1)
			o.planted = func(step string) {
				if left.Add(-1) == 0 {
					panic("planted " + step)
				}
			}
			d, _ := open(t, o, cudasim.Config{Declared: true, Outstanding: 1 << 20})
			right := func() {
				left.Store(-1)
				got, err := sums(t.Context(), d, p)
				require.NoError(t, err)
				p.check(t, got)
			}
			right()
			s := d.current.Load()
			slots := len(s.Uploads.Slots)
			for n := int64(1); ; n++ {
				left.Store(n)
				_, err := sums(t.Context(), d, p)
				if left.Load() > 0 {
					require.NoError(t, err)
					assert.Greater(t, n, int64(30), "steps of a job")
					break
				}
				require.ErrorContains(t, err, "planted", "step %d", n)
				right()
				assert.Equal(t, slots, len(s.Uploads.Free)+len(s.Uploads.Flying), "slots after step %d: %v", n, err)
				assert.Empty(t, d.enqueued)
				assert.Zero(t, d.jobs.Stats().Outstanding)
				assert.Zero(t, d.jobs.Stats().Losses, fmt.Sprint("step ", n))
			}
		})
	}
}
