package cuda

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/cuda/driver"
)

// looseRing is a ring whose buffers are not pinned; copies are never run.
func looseRing(slots, threads int) *ring {
	r := &ring{free: make(chan *slot, slots), threads: threads}
	for i := range slots {
		s := &slot{index: i, memory: make([]byte, 64)}
		r.slots = append(r.slots, s)
		r.free <- s
	}
	return r
}

func TestRingKeepsItsSlots(t *testing.T) {
	const slots, pieces = 8, 8
	wrong := errors.New("wrong")
	nothing := func(*driver.Bound, driver.Stream) error { return nil }
	fine := func(int, *slot) (launches, error) { return nothing, nil }
	for name, test := range map[string]struct {
		fill    func(int, *slot) (launches, error)
		enqueue error
		cancel  bool
		want    string
	}{
		"all goes well":         {fine, nil, false, ""},
		"a fill fails":          {func(i int, _ *slot) (launches, error) { return nil, map[bool]error{true: wrong}[i == 3] }, nil, false, "wrong"},
		"a fill panics":         {func(i int, _ *slot) (launches, error) { return nothing, []error{nil, nil}[i] }, nil, false, "BUG: cuda: staging piece"},
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
			to := lane{
				enqueue: func(launches, ...int) error { return test.enqueue },
				look:    func(launches) error { return nil },
			}
			err := r.send(ctx, to, segment{pieces: pieces, fill: test.fill})
			if test.want != "" {
				require.ErrorContains(t, err, test.want)
			} else if !test.cancel {
				require.NoError(t, err)
				assert.Len(t, r.flying, pieces)
			}
			assert.Equal(t, slots, len(r.free)+len(r.flying), "slots free and flying")
		})
	}
}
