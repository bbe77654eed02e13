package sentinel

import (
	"fmt"
	"io/fs"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestWrapKeepsTextAndCause(t *testing.T) {
	cause := &fs.PathError{Op: "open", Path: "x", Err: fs.ErrNotExist}
	err := fmt.Errorf("cuda: %w", Wrap(ErrDevice, cause))
	assert.EqualError(t, err, "cuda: open x: file does not exist")
	assert.ErrorIs(t, err, ErrDevice)
	assert.ErrorIs(t, err, fs.ErrNotExist)
	assert.NotErrorIs(t, err, ErrDeviceLost)
	var path *fs.PathError
	assert.ErrorAs(t, err, &path)
}

func TestNewIsItselfAndItsKind(t *testing.T) {
	full, other := New(ErrDeviceMemory, "full"), New(ErrDeviceMemory, "full")
	err := fmt.Errorf("gpu0: %w", full)
	assert.EqualError(t, err, "gpu0: full")
	assert.ErrorIs(t, err, full)
	assert.ErrorIs(t, err, ErrDeviceMemory)
	assert.NotErrorIs(t, err, other, "of the same kind")
}
