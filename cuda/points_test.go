package cuda

import (
	"context"
	"testing"
	"time"

	bls "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/cuda/driver"
	"github.com/libcuzk/libcuzk/engine/groth16"
	"github.com/libcuzk/libcuzk/engine/srs"
)

// TestAnEndingSessionGetsNoMoreReaders: else jobs of another card that overlap
// would keep it from ending, and what it registers would end with its context.
func TestAnEndingSessionGetsNoMoreReaders(t *testing.T) {
	params, err := srs.New(&groth16.VerifyingKey{IC: make([]bls.G1Affine, 1)},
		&srs.Points{A: make([]bls.G1Affine, 1), Paged: true})
	require.NoError(t, err)
	h, err := holdPoints(params)
	require.NoError(t, err)
	require.NoError(t, params.Release())

	ending, other := &registrar{}, &registrar{}
	h.sections, err = params.Sections(t.Context())
	require.NoError(t, err)
	h.by, h.pinned[srs.SectionA] = ending, true
	done, err := h.read(t.Context(), other)
	require.NoError(t, err)

	taken := make(chan []*hostPoints, 1)
	go func() { taken <- pinnedBy(ending) }()
	require.Eventually(t, func() bool {
		pinnedPoints.mu.Lock()
		defer pinnedPoints.mu.Unlock()
		return ending.ending
	}, time.Minute, time.Millisecond)
	soon, stop := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer stop()
	_, err = h.read(soon, other)
	require.ErrorIs(t, err, context.DeadlineExceeded)

	done()
	mine := <-taken
	require.Equal(t, []*hostPoints{h}, mine)
	require.NoError(t, takenBack(mine))
	_, err = h.read(t.Context(), ending)
	require.ErrorIs(t, err, driver.ErrClosed)
	require.NoError(t, h.letGo())
	assert.ErrorIs(t, params.Release(), srs.ErrReleased)
}
