//go:build linux && (amd64 || arm64)

package cudasim

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"

	"github.com/libcuzk/libcuzk/cuda/cudatest"
	"github.com/libcuzk/libcuzk/cuda/driver"
)

// start sets the simulator up with the kernels of testdata, and a card on it.
func start(t *testing.T, c Config) (*Sim, *cudatest.Card) {
	t.Helper()
	sim := open(t, "selftest", c)
	return sim, cudatest.OpenWithKernels(t)
}

type addArgs struct {
	Sum, A, B driver.DevicePtr
	N, _      uint32
}

func grid(threads, block uint32) driver.Launch {
	return driver.Launch{Grid: driver.Dim3{X: (threads + block - 1) / block}, Block: driver.Dim3{X: block}}
}

func TestAKernelComputes(t *testing.T) {
	_, card := start(t, Config{})
	const n = 1000
	a, b := make([]uint32, n), make([]uint32, n)
	want := make([]uint32, n)
	for i := range want {
		a[i], b[i] = uint32(i), uint32(i*i)
		want[i] = a[i] + b[i]
	}
	sum := card.Alloc(4 * n)
	cudatest.Run(card, "selftest_add", grid(n, 256), &addArgs{Sum: sum, A: cudatest.Upload(card, a), B: cudatest.Upload(card, b), N: n})
	assert.Equal(t, want, cudatest.Download[uint32](card, sum, n))
}

var _ = unsafe.Sizeof(addArgs{})
