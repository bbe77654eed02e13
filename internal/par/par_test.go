package par

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/internal/sentinel"
)

func TestRangesCoverEveryIndexOnce(t *testing.T) {
	for _, n := range []int{0, 1, 9, 10, 11, 100} {
		seen := make([]atomic.Int32, n)
		require.NoError(t, Ranges(t.Context(), 3, n, 10, func(lo, hi int) error {
			for i := lo; i < hi; i++ {
				seen[i].Add(1)
			}
			return nil
		}))
		for i := range seen {
			require.EqualValues(t, 1, seen[i].Load(), "index %d of %d", i, n)
		}
	}
}

func TestTheFirstErrorStopsTheRest(t *testing.T) {
	bad := errors.New("bad")
	var calls atomic.Int32
	err := For(t.Context(), 2, 1000, func(i int) error {
		calls.Add(1)
		if i == 3 {
			return bad
		}
		return nil
	})
	require.ErrorIs(t, err, bad)
	assert.Less(t, calls.Load(), int32(1000))
}

func TestAPanicIsAnError(t *testing.T) {
	for _, workers := range []int{1, 4} {
		err := For(t.Context(), workers, 8, func(int) error { panic("oops") })
		require.ErrorIs(t, err, sentinel.ErrInternal)
		require.ErrorContains(t, err, "panic: oops")
	}
}

func TestAnEndedContextStopsBeforeTheFirstCall(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := For(ctx, 2, 8, func(int) error { t.Error("called"); return nil })
	require.ErrorIs(t, err, context.Canceled)
}
