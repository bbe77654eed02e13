package staging

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/cuda/driver"
)

// looseRing is a ring whose buffers are not pinned; copies are never run.
func looseRing(slots, threads int) *Ring {
	r := &Ring{Free: make(chan *Slot, slots), threads: threads}
	for i := range slots {
		s := &Slot{Index: i, Memory: make([]byte, 64)}
		r.Slots = append(r.Slots, s)
		r.Free <- s
	}
	return r
}

func TestRingKeepsItsSlots(t *testing.T) {
	const slots, pieces = 8, 8
	wrong := errors.New("wrong")
	nothing := func(*driver.Bound, driver.Stream) error { return nil }
	fine := func(int, *Slot) (Work, error) { return nothing, nil }
	for name, test := range map[string]struct {
		fill    func(int, *Slot) (Work, error)
		enqueue error
		cancel  bool
		want    string
	}{
		"all goes well":         {fine, nil, false, ""},
		"a fill fails":          {func(i int, _ *Slot) (Work, error) { return nil, map[bool]error{true: wrong}[i == 3] }, nil, false, "wrong"},
		"a fill panics":         {func(i int, _ *Slot) (Work, error) { return nothing, []error{nil, nil}[i] }, nil, false, "BUG: cuda: staging piece"},
		"enqueueing fails":      {fine, wrong, false, "wrong"},
		"cancelled beforehand":  {fine, nil, true, "context canceled"},
		"cancelled, and failed": {fine, wrong, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := looseRing(slots, 3)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if test.cancel {
				cancel()
			}
			to := Stream{
				Enqueue: func(Work, ...int) error { return test.enqueue },
				Look:    func(Work) error { return nil },
			}
			err := r.Send(ctx, to, Segment{Pieces: pieces, Fill: test.fill})
			if test.want != "" {
				require.ErrorContains(t, err, test.want)
			} else if !test.cancel {
				require.NoError(t, err)
				assert.Len(t, r.Flying, pieces)
			}
			assert.Equal(t, slots, len(r.Free)+len(r.Flying), "slots free and flying")
		})
	}
}
