//go:build cuzk_lockcheck

package sched

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

func TestLockCheckPanics(t *testing.T) {
	for name, tc := range map[string]struct {
		do   func(*Scheduler)
		want string
	}{
		"the compute lock under the memory lock": {func(s *Scheduler) {
			s.mem.Lock()
			defer s.mem.Unlock()
			s.compute.Lock()
		}, "BUG: sched: takes the compute lock while it holds the memory lock"},
		"the memory lock under the compute lock": {func(s *Scheduler) {
			s.compute.Lock()
			defer s.compute.Unlock()
			s.Stats()
		}, "BUG: sched: takes the memory lock while it holds the compute lock"},
		"the memory lock twice": {func(s *Scheduler) {
			s.mem.Lock()
			defer s.mem.Unlock()
			s.mem.Lock()
		}, "BUG: sched: takes the memory lock while it holds the memory lock"},
		"a turn under the compute lock": {func(s *Scheduler) {
			s.compute.Lock()
			defer s.compute.Unlock()
			_ = s.uploadTurn.wait(context.Background(), 0)
		}, "BUG: sched: waits for the upload turn while it holds the compute lock"},
		"an event under the compute lock, in a launch": {func(s *Scheduler) {
			_ = s.Run(context.Background(), blocks(1, mib), Work{Compute: func(ctx context.Context, t *Ticket) error {
				return t.Enqueue(ctx, Compute, func() error { return t.Await(ctx, &Mark{}) }, 0)
			}})
		}, "BUG: sched: waits for an event while it holds the compute lock"},
		"a call of the device that waits": {func(s *Scheduler) {
			s.compute.Lock()
			defer s.compute.Unlock()
			MayWait("cuMemFree")
		}, "BUG: sched: waits for cuMemFree while it holds the compute lock"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, 12*mib)
				require.PanicsWithValue(t, lockBug(tc.want), func() { tc.do(b.Scheduler) })
				lockHeld.Clear()
			})
		})
	}
}
