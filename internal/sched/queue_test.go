package sched

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func push(t *testing.T, q *Queue[int], v int, p Priority) *Entry[int] {
	t.Helper()
	e, err := q.Push(v, p)
	require.NoError(t, err)
	return e
}

func pop(t *testing.T, q *Queue[int]) int {
	t.Helper()
	v, err := q.Pop(t.Context())
	require.NoError(t, err)
	return v
}

func TestQueueOrder(t *testing.T) {
	type in struct {
		v int
		p Priority
	}
	for name, tc := range map[string]struct {
		push []in
		want []int
	}{
		"one level keeps the order of arrival": {
			[]in{{1, Normal}, {2, Normal}, {3, Normal}}, []int{1, 2, 3}},
		"higher levels go first": {
			[]in{{1, Low}, {2, Normal}, {3, High}, {4, Critical}}, []int{4, 3, 2, 1}},
		"the default is normal": {
			[]in{{1, Low}, {2, Default}, {3, Normal}, {4, High}}, []int{4, 2, 3, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			q := NewQueue[int]()
			for _, i := range tc.push {
				push(t, q, i.v, i.p)
			}
			require.Equal(t, len(tc.push), q.Len())
			var got []int
			for range tc.push {
				got = append(got, pop(t, q))
			}
			require.Equal(t, tc.want, got)
			require.Zero(t, q.Len())
		})
	}
}

func TestQueueRefusesUnknownPriority(t *testing.T) {
	_, err := NewQueue[int]().Push(1, Critical+1)
	require.EqualError(t, err, "sched: push: priority 5, expected 0 (default) to 4 (critical)")
}

func TestQueueAgeing(t *testing.T) {
	t.Run("a low job gets through a stream of critical ones", func(t *testing.T) {
		q := NewQueue[int]()
		push(t, q, -1, Low)
		for i := range AgeLimit {
			push(t, q, i, Critical)
			require.Equal(t, i, pop(t, q))
		}
		push(t, q, AgeLimit, Critical)
		require.Equal(t, -1, pop(t, q))
		require.Equal(t, AgeLimit, pop(t, q))
	})

	t.Run("every waiting job is out within its bound", func(t *testing.T) {
		rng := rand.New(rand.NewPCG(1, 2))
		q := NewQueue[int]()
		deadline := map[int]int{} // value → latest pop that may return it
		waiting := [levels]int{}
		level := map[int]int{}
		next, pops := 0, 0
		add := func(p Priority) {
			deadline[next] = pops + (waiting[p.level()]+1)*(AgeLimit+levels-1)
			level[next] = p.level()
			waiting[p.level()]++
			push(t, q, next, p)
			next++
		}
		for range 20_000 {
			add(Priority(1 + rng.IntN(levels)))
			if rng.IntN(2) == 0 {
				add(Critical)
			}
			if q.Len() > 100 {
				for range 30 {
					v := pop(t, q)
					pops++
					waiting[level[v]]--
					require.LessOrEqual(t, pops, deadline[v])
				}
			}
		}
	})

	t.Run("a backlog that has aged delays a critical job by three at most", func(t *testing.T) {
		for seed := range uint64(500) {
			rng := rand.New(rand.NewPCG(3, seed))
			q := NewQueue[int]()
			for i := range 400 {
				push(t, q, i, Priority(1+rng.IntN(int(High))))
			}
			for range rng.IntN(200) {
				pop(t, q)
			}
			push(t, q, -1, Critical)
			before := 0
			for pop(t, q) != -1 {
				before++
			}
			require.LessOrEqual(t, before, levels-1)
		}
	})
}

func TestQueueRemove(t *testing.T) {
	q := NewQueue[int]()
	first, second := push(t, q, 1, High), push(t, q, 2, High)
	require.True(t, q.Remove(first))
	require.False(t, q.Remove(first), "a second Remove")
	require.Equal(t, 2, pop(t, q))
	require.False(t, q.Remove(second), "Remove after Pop")
	require.Zero(t, q.Len())

	// A level emptied by Remove starts ageing anew.
	e := push(t, q, 3, Low)
	for i := range AgeLimit {
		push(t, q, i, High)
		pop(t, q)
	}
	require.True(t, q.Remove(e))
	push(t, q, 4, Low)
	push(t, q, 5, High)
	require.Equal(t, 5, pop(t, q))
}

func TestQueuePopWaits(t *testing.T) {
	t.Run("for a push", func(t *testing.T) {
		q := NewQueue[int]()
		got := make(chan int)
		go func() {
			v, _ := q.Pop(context.Background())
			got <- v
		}()
		push(t, q, 7, Low)
		require.Equal(t, 7, <-got)
	})

	t.Run("until its context ends", func(t *testing.T) {
		q := NewQueue[int]()
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		_, err := q.Pop(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
	})

	t.Run("until Close, which hands back what waits", func(t *testing.T) {
		q := NewQueue[int]()
		errs := make(chan error)
		go func() {
			_, err := q.Pop(context.Background())
			errs <- err
		}()
		require.Empty(t, q.Close())
		require.ErrorIs(t, <-errs, ErrClosed)
		_, err := q.Push(1, Low)
		require.ErrorIs(t, err, ErrClosed)

		q = NewQueue[int]()
		push(t, q, 1, Low)
		e := push(t, q, 2, High)
		require.Equal(t, []int{2, 1}, q.Close())
		require.Empty(t, q.Close())
		require.False(t, q.Remove(e))
		require.Zero(t, q.Len())
	})
}

// TestQueueHammer pushes, pops, removes and cancels from many goroutines:
// each value comes out exactly once, by Pop or by Remove.
func TestQueueHammer(t *testing.T) {
	const producers, perProducer, consumers = 4, 3_000, 3
	q := NewQueue[int]()
	var mu sync.Mutex
	seen := map[int]int{}
	note := func(v int) {
		mu.Lock()
		defer mu.Unlock()
		seen[v]++
	}

	var pushing, popping sync.WaitGroup
	for p := range producers {
		pushing.Go(func() {
			rng := rand.New(rand.NewPCG(4, uint64(p)))
			for i := range perProducer {
				v := p*perProducer + i
				e, err := q.Push(v, Priority(rng.IntN(levels+1)))
				if err != nil {
					t.Error(err)
					return
				}
				if rng.IntN(4) == 0 && q.Remove(e) {
					note(v)
				}
			}
		})
	}
	for c := range consumers {
		popping.Go(func() {
			rng := rand.New(rand.NewPCG(5, uint64(c)))
			for {
				ctx, cancel := context.WithCancel(context.Background())
				if rng.IntN(8) == 0 {
					go cancel()
				}
				v, err := q.Pop(ctx)
				cancel()
				switch {
				case err == nil:
					note(v)
				case errors.Is(err, ErrClosed):
					return
				}
			}
		})
	}
	pushing.Wait()
	for q.Len() > 0 {
		time.Sleep(time.Millisecond)
	}
	require.Empty(t, q.Close())
	popping.Wait()
	require.Len(t, seen, producers*perProducer)
	for v, n := range seen {
		require.Equal(t, 1, n, "value %d", v)
	}
}
