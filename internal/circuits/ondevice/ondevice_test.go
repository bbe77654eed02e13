package ondevice

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	bls "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/cuda/driver"
	"github.com/libcuzk/libcuzk/internal/circuits/synth"
	"github.com/libcuzk/libcuzk/internal/cudatest"
	"github.com/libcuzk/libcuzk/tests/cudasim"
)

// onDevice reports whether tests run on a GPU: CUZK_REQUIRE_GPU=1.
func onDevice() bool { return os.Getenv(cudatest.RequireVariable) == "1" }

// open opens the device, or the simulator, which is nil on a device.
func open(t testing.TB, c cudasim.Config) (*Maker, *cudasim.Sim) {
	t.Helper()
	var sim *cudasim.Sim
	if !onDevice() {
		c.Declared = true
		sim = cudasim.New(t, c)
	}
	m, err := Open(cudatest.Device(t))
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, m.Close())
		require.NoError(t, m.Close(), "closing twice is closing once")
	})
	return m, sim
}

var shapes = map[string]synth.Shape{
	"one row, every section but a empty": {Rows: 1, Inputs: 1},
	"no aux":                             {Rows: 5, Inputs: 3, BInputs: 1},
	"all dense":                          synth.Dense(33, 2),
	"as in a PoRep":                      synth.PoRepLike(100, 3),
	"repeated points": {Rows: 40, Inputs: 1, Aux: 60, AAux: 0.5, BAux: 0.5, BOne: true,
		Duplicates: 0.8, DuplicateGroup: 3},
}

func exponents(t testing.TB, shape synth.Shape) *synth.Exponents {
	t.Helper()
	circuit, err := synth.New(shape, 7)
	require.NoError(t, err)
	return circuit.Exponents()
}

func TestPointsAreThoseOfTheCPU(t *testing.T) {
	m, _ := open(t, cudasim.Config{})
	m.maxPoints = 16 // several pieces for a producer
	if onDevice() {
		m.maxPoints = maxPoints
		shapes["larger"] = synth.PoRepLike(1<<14-3, 40)
	}
	for name, shape := range shapes {
		t.Run(name, func(t *testing.T) {
			e := exponents(t, shape)
			if len(e.H) > 0 {
				e.H[0].SetZero() // a point at infinity
			}
			set, err := m.Points(t.Context(), e)
			require.NoError(t, err)
			defer set.Free()
			want := e.Points()
			requireSame(t, want.H, set.Points.H, "h")
			requireSame(t, want.L, set.Points.L, "l")
			requireSame(t, want.A, set.Points.A, "a")
			requireSame(t, want.BG1, set.Points.BG1, "b_g1")
			requireSame(t, want.BG2, set.Points.BG2, "b_g2")
			assert.Equal(t, e.VerifyingKey(), set.Key)
			_, err = set.Params()
			require.NoError(t, err)
		})
	}
}

func requireSame[P bls.G1Affine | bls.G2Affine](t *testing.T, want, got []P, what string) {
	t.Helper()
	require.Equal(t, len(want), len(got), what)
	for i := range want {
		require.Equal(t, want[i], got[i], "%s, point %d", what, i)
	}
}

func TestFilesAreThoseOfTheCPU(t *testing.T) {
	m, _ := open(t, cudasim.Config{})
	m.maxPoints = 32
	for name, shape := range shapes {
		t.Run(name, func(t *testing.T) {
			circuit, err := synth.New(shape, 7)
			require.NoError(t, err)
			var want bytes.Buffer
			require.NoError(t, circuit.WriteParams(&want))

			path := filepath.Join(t.TempDir(), "set.params")
			f, err := os.Create(path)
			require.NoError(t, err)
			require.NoError(t, m.Write(t.Context(), f, circuit.Exponents()))
			require.NoError(t, f.Close())
			got, err := os.ReadFile(path)
			require.NoError(t, err)
			assert.True(t, bytes.Equal(want.Bytes(), got), "%d bytes expected, %d written", want.Len(), len(got))
		})
	}
}

// failing is a file on a full disk.
type failing struct{}

var errFull = errors.New("the disk is full")

func (failing) WriteAt(b []byte, at int64) (int, error) {
	if at > 0 {
		return 0, errFull
	}
	return len(b), nil
}

func TestFailuresAreToldAndLeaveNothing(t *testing.T) {
	m, sim := open(t, cudasim.Config{})
	e := exponents(t, synth.Dense(20, 2))
	require.ErrorIs(t, m.Write(t.Context(), failing{}, e), errFull)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := m.Points(ctx, e)
	require.ErrorIs(t, err, context.Canceled)

	if sim != nil {
		for _, call := range []string{"cuMemHostAlloc", "cuMemAlloc", "cuMemcpyDtoHAsync"} {
			sim.Fault(cudasim.Fault{Call: call, Nth: 1, Code: int(driver.ErrorOutOfMemory)})
			_, err = m.Points(t.Context(), e)
			require.True(t, driver.Is(err, driver.ErrorOutOfMemory), "%s: %v", call, err)
			require.ErrorContains(t, err, call)
			sim.ClearFaults()
		}
	}
	set, err := m.Points(t.Context(), e)
	require.NoError(t, err, "and the next call works")
	set.Free()
}

// BenchmarkPoints makes the points of a PoRep's parameters and reports, in
// seconds, what goes before: the circuit, and the exponents of its points.
func BenchmarkPoints(b *testing.B) {
	m, _ := open(b, cudasim.Config{})
	logs := []int{8}
	if onDevice() {
		logs = []int{18, 20, 22, 24}
	}
	for _, log := range logs {
		b.Run(fmt.Sprintf("2^%d", log), func(b *testing.B) {
			start := time.Now()
			circuit, err := synth.New(synth.PoRepLike(1<<log-1<<log/50, 40), 1)
			require.NoError(b, err)
			drawn := time.Now()
			e := circuit.Exponents()
			evaluated := time.Now()
			for b.Loop() {
				set, err := m.Points(b.Context(), e)
				require.NoError(b, err)
				b.SetBytes(int64(len(set.memory)))
				set.Free()
			}
			b.ReportMetric(drawn.Sub(start).Seconds(), "circuit-s")
			b.ReportMetric(evaluated.Sub(drawn).Seconds(), "exponents-s")
		})
	}
}
