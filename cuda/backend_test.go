package cuda

import (
	"testing"

	"github.com/libcuzk/libcuzk/internal/backendtest"
	"github.com/libcuzk/libcuzk/tests/cudasim"
)

func TestConformance(t *testing.T) {
	if !onCard() {
		cudasim.New(t, cudasim.Config{})
	}
	backendtest.Run(t, NewProvider(Options{}))
}
