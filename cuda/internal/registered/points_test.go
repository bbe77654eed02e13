package registered

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

// TestAnEndingContextGetsNoMoreReaders: else overlapping partitions of another
// device would keep it from ending, and later readers would lose the memory.
func TestAnEndingContextGetsNoMoreReaders(t *testing.T) {
	params, err := srs.New(&groth16.VerifyingKey{IC: make([]bls.G1Affine, 1)},
		&srs.Points{A: make([]bls.G1Affine, 1), Paged: true})
	require.NoError(t, err)
	h, err := Acquire(params)
	require.NoError(t, err)
	require.NoError(t, params.Release())

	ending, other := &Registrar{}, &Registrar{}
	h.Sections, err = params.Sections(t.Context())
	require.NoError(t, err)
	h.by, h.registered[srs.SectionA] = ending, true
	done, err := h.Read(t.Context(), other)
	require.NoError(t, err)

	taken := make(chan []*Points, 1)
	go func() { taken <- BeginUnregister(ending) }()
	require.Eventually(t, func() bool {
		registry.mu.Lock()
		defer registry.mu.Unlock()
		return ending.ending
	}, time.Minute, time.Millisecond)
	soon, stop := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer stop()
	_, err = h.Read(soon, other)
	require.ErrorIs(t, err, context.DeadlineExceeded)

	done()
	mine := <-taken
	require.Equal(t, []*Points{h}, mine)
	require.NoError(t, EndUnregister(mine))
	_, err = h.Read(t.Context(), ending)
	require.ErrorIs(t, err, driver.ErrClosed)
	require.NoError(t, h.Release())
	assert.ErrorIs(t, params.Release(), srs.ErrReleased)
}
