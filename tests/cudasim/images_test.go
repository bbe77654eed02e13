//go:build linux && (amd64 || arm64)

package cudasim

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/cuda/kernels"
)

// Packages are tested at the same time, and each fills the folder.
func TestImagesAreThereWholeOrNotYet(t *testing.T) {
	folder := t.TempDir()
	markerImages(t, folder)
	const rounds = 200
	var writers sync.WaitGroup
	for range 2 {
		writers.Go(func() {
			for range rounds {
				markerImages(t, folder)
			}
		})
	}
	for range rounds {
		for _, name := range kernels.Names {
			image, err := os.ReadFile(filepath.Join(folder, name+kernels.Extension))
			require.NoError(t, err)
			assert.Equal(t, imageMarker, string(image), name)
		}
	}
	writers.Wait()
}
