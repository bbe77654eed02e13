//go:build linux && (amd64 || arm64)

package cudasim

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/cuda/driver"
	"github.com/libcuzk/libcuzk/internal/cudatest"
)

// Argument structs of the kernels in testdata.
type (
	addArgs struct {
		Sum, A, B driver.DevicePtr
		N, _      uint32
	}
	pokeArgs struct {
		P, Result  driver.DevicePtr
		Index      uint64
		Write, Raw uint32
	}
	orderArgs     struct{ Next, Seen driver.DevicePtr }
	undefinedArgs struct {
		P             driver.DevicePtr
		Which, Amount uint32
	}
	deepArgs struct {
		P        driver.DevicePtr
		Steps, _ uint32
	}
	reverseArgs struct {
		P          driver.DevicePtr
		Fault, Pad uint32
	}
	scanArgs struct {
		P, Totals driver.DevicePtr
		_, _      uint32
	}
	voteArgs struct {
		Ballots  driver.DevicePtr
		Leave, _ uint32
	}
	histogramArgs struct {
		P, Counts driver.DevicePtr
		N, Atomic uint32
	}
	leaveArgs struct{ P driver.DevicePtr }
	raceArgs  struct {
		P      driver.DevicePtr
		How, _ uint32
	}
)

// start sets the simulator up with the kernels of testdata, and a device on it.
func start(t *testing.T, c Config) (*Sim, *cudatest.Rig) {
	t.Helper()
	sim := open(t, "selftest", c)
	return sim, cudatest.OpenWithKernels(t)
}

// grid has one thread for each of n elements.
func grid(n, block uint32) driver.Launch {
	return driver.Launch{Grid: driver.Dim3{X: (n + block - 1) / block}, Block: driver.Dim3{X: block}}
}

func counting(n int) []uint32 {
	values := make([]uint32, n)
	for i := range values {
		values[i] = uint32(i)
	}
	return values
}

func TestAKernelComputes(t *testing.T) {
	_, rig := start(t, Config{})
	const n = 1000
	a, b, want := counting(n), make([]uint32, n), make([]uint32, n)
	for i := range want {
		b[i] = uint32(i * i)
		want[i] = a[i] + b[i]
	}
	sum := rig.Alloc(4 * n)
	cudatest.Run(rig, "selftest_add", grid(n, 256), &addArgs{Sum: sum, A: cudatest.Upload(rig, a), B: cudatest.Upload(rig, b), N: n})
	assert.Equal(t, want, cudatest.Download[uint32](rig, sum, n))
}

func TestBarriersAndSharedMemory(t *testing.T) {
	for name, c := range map[string]Config{
		"threads in order":          {InOrder: true},
		"threads in a seeded order": {Seed: 3},
		"and in another":            {Seed: 4},
	} {
		t.Run(name, func(t *testing.T) {
			_, rig := start(t, c)
			p := cudatest.Upload(rig, counting(256))
			cudatest.Run(rig, "selftest_reverse", grid(256, 64), &reverseArgs{P: p})
			for i, v := range cudatest.Download[uint32](rig, p, 256) {
				require.EqualValues(t, i/64*64+63-i%64, v, "element %d", i)
			}
			leave := rig.Alloc(128)
			cudatest.Run(rig, "selftest_leave", grid(64, 64), &leaveArgs{leave})
			assert.Equal(t, counting(32), cudatest.Download[uint32](rig, leave, 32))
		})
	}
}

func TestWarpExchange(t *testing.T) {
	_, rig := start(t, Config{})
	ballots := rig.Alloc(32)
	cudatest.Run(rig, "selftest_vote", grid(256, 256), &voteArgs{Ballots: ballots})
	for _, votes := range cudatest.Download[uint32](rig, ballots, 8) {
		assert.Equal(t, uint32(0x49249249), votes)
	}
	p, totals := cudatest.Upload(rig, counting(1024)), rig.Alloc(16)
	cudatest.Run(rig, "selftest_scan", grid(1024, 256), &scanArgs{P: p, Totals: totals})
	sums := cudatest.Download[uint32](rig, p, 1024)
	var sum uint32
	for i := range sums {
		if i%256 == 0 {
			sum = 0
		}
		require.Equal(t, sum, sums[i], "element %d", i)
		sum += uint32(i)
	}
	assert.Equal(t, []uint32{32640, 98176, 163712, 229248}, cudatest.Download[uint32](rig, totals, 4))
}

func TestAtomics(t *testing.T) {
	_, rig := start(t, Config{})
	values, want := make([]uint32, 1000), make([]uint32, 16)
	for i := range values {
		values[i] = uint32(i*i+i/7) % 16
		want[values[i]]++
	}
	counts := cudatest.Upload(rig, make([]uint32, 16))
	cudatest.Run(rig, "selftest_histogram", grid(1000, 128), &histogramArgs{P: cudatest.Upload(rig, values), Counts: counts, N: 1000, Atomic: 1})
	assert.Equal(t, want, cudatest.Download[uint32](rig, counts, 16))
}

func TestTheOrderOfThreadsFollowsTheSeed(t *testing.T) {
	seen := func(c Config) (order []uint32) {
		t.Run("", func(t *testing.T) {
			_, rig := start(t, c)
			next, p := cudatest.Upload(rig, []uint32{0}), rig.Alloc(4*512)
			cudatest.Run(rig, "selftest_order", grid(512, 64), &orderArgs{next, p})
			order = cudatest.Download[uint32](rig, p, 512)
		})
		return order
	}
	assert.Equal(t, counting(512), seen(Config{InOrder: true}))
	first := seen(Config{Seed: 5})
	assert.Equal(t, first, seen(Config{Seed: 5}))
	assert.NotEqual(t, first, seen(Config{Seed: 6}))
	assert.ElementsMatch(t, counting(512), first)
}

func TestThreadsHaveStacksOfTheirOwn(t *testing.T) {
	_, rig := start(t, Config{})
	p := rig.Alloc(4 * 256)
	cudatest.Run(rig, "selftest_deep", grid(256, 256), &deepArgs{P: p, Steps: 100})
	for thread, got := range cudatest.Download[uint32](rig, p, 256) {
		var want uint32
		for i := range uint32(100) {
			want += i*997%2048 + uint32(thread)
		}
		require.Equal(t, want, got)
	}
}
