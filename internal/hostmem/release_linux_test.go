package hostmem

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestABufferThatCannotBeUnmappedGivesItsPagesBack(t *testing.T) {
	const page = 4096
	raw, err := Alloc(2 * page)
	require.NoError(t, err)
	raw[0], raw[page] = 1, 2
	require.Error(t, unix.Munmap(raw[:page]), "a part of a mapping is refused")
	Free(raw[:page])
	assert.Zero(t, raw[0], "a page that was given back reads as zero")
	assert.EqualValues(t, 2, raw[page])
	Free(raw)
}
