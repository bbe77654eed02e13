package sched

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/internal/vram"
)

// A launch that finds the device lost says so under the compute lock; making
// something of it takes the memory lock, which is a bug there. Built with
// cuzk_lockcheck the wrong order panics.
func TestLaunchFindsTheDeviceLost(t *testing.T) {
	lost := func() error { return fmt.Errorf("launch: %w", ErrDeviceLost) }

	t.Run("while a parameter set loads", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, 64*mib)
			n := blocks(1, mib)
			n.Set = vram.NewSet("lost", 4*mib)
			err := b.Load(t.Context(), n, func(ctx context.Context, l *Loading) error {
				return l.Enqueue(ctx, lost)
			})
			require.ErrorIs(t, err, ErrDeviceLost)
		})
	})

	t.Run("in each stage of a job", func(t *testing.T) {
		for st, work := range map[Stream]Work{
			Upload:  {Upload: func(ctx context.Context, t *Ticket) error { return t.Enqueue(ctx, Upload, lost, 0) }},
			Compute: {Compute: func(ctx context.Context, t *Ticket) error { return t.Enqueue(ctx, Compute, lost, 0) }},
		} {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, 64*mib)
				require.ErrorIs(t, b.Run(t.Context(), blocks(1, mib), work), ErrDeviceLost, "stream %v", st)
			})
		}
	})
}
