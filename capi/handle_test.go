package main

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestHandleTable(t *testing.T) {
	t.Run("a handle leads to its value until its last reference is given back", func(t *testing.T) {
		table := handleTable[string]{kind: kindJob}
		h := table.add("value")
		require.NoError(t, table.retain(h))

		v, last, err := table.release(h)
		require.NoError(t, err)
		assert.False(t, last)
		assert.Empty(t, v)
		got, err := table.get(h)
		require.NoError(t, err)
		assert.Equal(t, "value", got)

		v, last, err = table.release(h)
		require.NoError(t, err)
		assert.True(t, last)
		assert.Equal(t, "value", v)
	})

	t.Run("a released handle is refused even when its slot is in use again", func(t *testing.T) {
		table := handleTable[int]{kind: kindJob}
		old := table.add(1)
		_, _, err := table.release(old)
		require.NoError(t, err)
		fresh := table.add(2)
		_, _, oldIndex := splitHandle(old)
		_, _, freshIndex := splitHandle(fresh)
		require.Equal(t, oldIndex, freshIndex, "the slot should have been reused")

		_, err = table.get(old)
		require.ErrorIs(t, err, errHandle)
		require.ErrorContains(t, err, "was released")
		require.ErrorIs(t, table.retain(old), errHandle)
		_, _, err = table.release(old)
		require.ErrorIs(t, err, errHandle)
		got, err := table.get(fresh)
		require.NoError(t, err)
		assert.Equal(t, 2, got)
	})

	t.Run("numbers that are no handles of this kind are refused with the reason", func(t *testing.T) {
		table := handleTable[int]{kind: kindJob}
		table.add(1)
		for h, text := range map[uint64]string{
			0:                             "got 0",
			1:                             "no handle",
			^uint64(0):                    "no handle",
			makeHandle(kindSRS, 0, 0):     "that of a parameter set",
			makeHandle(kindJob, 0, 1):     "never given out",
			makeHandle(kindJob, 1, 0):     "was released",
			makeHandle(kindPending, 0, 0): "that of a pending proof",
		} {
			_, err := table.get(h)
			require.ErrorIs(t, err, errHandle, "%#x", h)
			require.ErrorContains(t, err, text, "%#x", h)
		}
	})

	t.Run("a slot whose generations are used up is not given out again", func(t *testing.T) {
		table := handleTable[int]{kind: kindSRS}
		h := table.add(1)
		table.slots[0].generation = maxGeneration
		_, _, index := splitHandle(h)
		_, _, err := table.release(makeHandle(kindSRS, maxGeneration, index))
		require.NoError(t, err)
		_, _, next := splitHandle(table.add(2))
		assert.NotEqual(t, index, next)
	})

	t.Run("hammer: no handle reaches another's value", func(t *testing.T) {
		table := handleTable[uint64]{kind: kindSRS}
		var wg sync.WaitGroup
		for worker := range uint64(8) {
			wg.Go(func() {
				for i := range uint64(2000) {
					want := worker<<32 | i
					h := table.add(want)
					got, err := table.get(h)
					if !assert.NoError(t, err) || !assert.Equal(t, want, got) {
						return
					}
					got, last, err := table.release(h)
					if !assert.NoError(t, err) || !assert.True(t, last) || !assert.Equal(t, want, got) {
						return
					}
				}
			})
		}
		wg.Wait()
		assert.LessOrEqual(t, len(table.slots), 8)
	})
}
