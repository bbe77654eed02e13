package launch_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"unsafe"

	bls "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fp"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/cuda/driver"
	"github.com/libcuzk/libcuzk/internal/cudatest"
	"github.com/libcuzk/libcuzk/internal/launch"
	"github.com/libcuzk/libcuzk/tests/cudasim"
)

// The tests run every kernel on a GPU if CUZK_REQUIRE_GPU=1, and else on the
// simulator. Sizes for a GPU are left out with -short too.
func onDevice() bool { return os.Getenv(cudatest.RequireVariable) == "1" }

func sizes(simulated, device []int) []int {
	if onDevice() && !testing.Short() {
		return append(simulated, device...)
	}
	return simulated
}

// rig is a device with the kernels loaded, and a seeded source of inputs.
type rig struct {
	*cudatest.Rig
	random *rand.Rand
	made   map[madePoints]launch.Range // by points
}

// madePoints says whose multiples they are: the logarithms, by identity.
type madePoints struct {
	group launch.Group
	logs  *fr.Element
	n     int
}

func open(t testing.TB) *rig {
	t.Helper()
	if !onDevice() {
		readSources(t)
		cudasim.New(t, cudasim.Config{Declared: true})
	}
	return &rig{cudatest.OpenWithKernels(t), rand.New(rand.NewPCG(1, 2)), map[madePoints]launch.Range{}}
}

// probeVariable names the image of the probe kernels, which the library does not
// carry. tests/gpu/build.sh makes it.
const probeVariable = "CUZK_PROBE_IMAGE"

// openProbes is open with the probe kernels. The simulator has them already.
func openProbes(t testing.TB) *rig {
	t.Helper()
	r := open(t)
	if onDevice() {
		image, err := os.ReadFile(os.Getenv(probeVariable))
		require.NoError(t, err, "%s names the image of internal/launch/testdata/probe.cu", probeVariable)
		r.Load(image)
	}
	return r
}

// readSources makes go test run again when a kernel source has changed: it
// remembers what a test reads itself, not what the compiler it starts reads.
func readSources(t testing.TB) {
	t.Helper()
	sources, err := filepath.Glob("../../cuda/kernels/*/*.cu*")
	require.NoError(t, err)
	sources = append(sources, "testdata/probe.cu")
	require.NotEmpty(t, sources)
	for _, source := range sources {
		_, err := os.ReadFile(source)
		require.NoError(t, err)
	}
}

func (r *rig) memory(bytes uint64) launch.Range {
	return launch.Range{Addr: uint64(r.Alloc(bytes)), Bytes: bytes}
}

func upload[T any](r *rig, values []T) launch.Range {
	var one T
	return launch.Range{
		Addr:  uint64(cudatest.Upload(r.Rig, values)),
		Bytes: uint64(len(values)) * uint64(unsafe.Sizeof(one)),
	}
}

func download[T any](r *rig, from launch.Range, n int) []T {
	return cudatest.Download[T](r.Rig, driver.DevicePtr(from.Addr), n)
}

func (r *rig) scalar() (x fr.Element) {
	x[0], x[1], x[2], x[3] = r.random.Uint64(), r.random.Uint64(), r.random.Uint64(), r.random.Uint64()>>2
	return x // below r, uniform enough, and as good a residue in Montgomery form
}

func (r *rig) scalars(n int) []fr.Element {
	s := make([]fr.Element, n)
	for i := range s {
		s[i] = r.scalar()
	}
	return s
}

func (r *rig) coordinate() (x fp.Element) {
	for i := range x {
		x[i] = r.random.Uint64()
	}
	x[5] >>= 4
	return x
}

// logs gives n discrete logarithms, with repetitions, opposites and zeros (the
// point at infinity) among them.
func (r *rig) logs(n int) []fr.Element {
	k := r.scalars(n)
	for i := range k {
		switch r.random.IntN(8) {
		case 0:
			k[i] = k[r.random.IntN(i+1)]
		case 1:
			k[i].Neg(&k[r.random.IntN(i+1)])
		case 2:
			if r.random.IntN(4) == 0 {
				k[i].SetZero()
			}
		}
	}
	return k
}

func pointsG1(logs []fr.Element) []bls.G1Affine {
	_, _, g, _ := bls.Generators()
	return bls.BatchScalarMultiplicationG1(&g, logs)
}

func pointsG2(logs []fr.Element) []bls.G2Affine {
	_, _, _, g := bls.Generators()
	return bls.BatchScalarMultiplicationG2(&g, logs)
}

// points uploads the multiples of the generator, those of a slice once: making
// them takes longer than adding them up. The slice does not change after that.
func (r *rig) points(g launch.Group, logs []fr.Element) launch.Range {
	key := madePoints{g, unsafe.SliceData(logs), len(logs)}
	if made, ok := r.made[key]; ok {
		return made
	}
	var made launch.Range
	if g == launch.G1 {
		made = upload(r, pointsG1(logs))
	} else {
		made = upload(r, pointsG2(logs))
	}
	r.made[key] = made
	return made
}

func multipleG1(k fr.Element) bls.G1Affine { return pointsG1([]fr.Element{k})[0] }
func multipleG2(k fr.Element) bls.G2Affine { return pointsG2([]fr.Element{k})[0] }

func affineG1(p bls.G1Jac) (a bls.G1Affine) { return *a.FromJacobian(&p) }
func affineG2(p bls.G2Jac) (a bls.G2Affine) { return *a.FromJacobian(&p) }

// dot is sum a_i b_i.
func dot(a, b []fr.Element) (sum fr.Element) {
	for i := range a {
		var t fr.Element
		sum.Add(&sum, t.Mul(&a[i], &b[i]))
	}
	return sum
}

func requireSame[T any](t *testing.T, want, got []T, what string) {
	t.Helper()
	require.Equal(t, len(want), len(got), what)
	for i := range want {
		require.Equal(t, want[i], got[i], "%s, element %d", what, i)
	}
}
