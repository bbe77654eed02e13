package twins

import (
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// source has a kernel's body as CUZK_KERNEL leaves it.
const source = `
typedef unsigned u32;
typedef unsigned long u64;
namespace made_up {
constexpr u32 BATCH = 64 * 32, NEVER_USED = 7;
enum Mode { MODE_NONE = 0, MODE_ALL = 3 };
template <int N> struct alignas(16) Limbs {
    u32 limb[N];
    u32 first() const { return limb[0]; }
};
template <class T> struct Inner {
    const T *scalars;
    u32 k[9];
    u32 n;
};
struct Args {
    Inner<Limbs<8>> sort;
    Limbs<8> c_scale;
    u64 first;
    u32 *head_buckets, *buckets;
    u32 log_size, tiled;
    u32 pad[4];
};
static void made_up_sum_body(const Args &a);
extern "C" void made_up_sum(const void *a) { made_up_sum_body(*static_cast<const Args *>(a)); }
static void made_up_sum_body(const Args &a) { a.buckets[a.first] = a.sort.k[a.tiled == MODE_ALL] + a.c_scale.first(); }
}
`

func read(t *testing.T) *Sources {
	t.Helper()
	compiler, err := exec.LookPath("g++")
	if err != nil {
		t.Skip("g++ is missing")
	}
	folder := t.TempDir()
	file, library := filepath.Join(folder, "made_up.cpp"), filepath.Join(folder, "made_up.so")
	require.NoError(t, os.WriteFile(file, []byte(source), 0o600))
	output, err := exec.Command(compiler, "-std=c++17", "-g", "-O2", "-fPIC", "-shared", "-o", library, file).CombinedOutput()
	require.NoError(t, err, "%s", output)
	s, err := Read(library)
	require.NoError(t, err)
	return s
}

type limbs [8]uint32

type inner struct {
	scalars uint64
	k       [9]uint32
	n       uint32
}

func TestArguments(t *testing.T) {
	got := read(t).Arguments["made_up_sum"]
	assert.Equal(t, Struct{Bytes: 128, Fields: []Field{
		{"sort.scalars", 0, 1, 8}, {"sort.k", 8, 9, 4}, {"sort.n", 44, 1, 4},
		{"cScale", 48, 8, 4}, {"first", 80, 1, 8},
		{"headBuckets", 88, 1, 8}, {"buckets", 96, 1, 8},
		{"logSize", 104, 1, 4}, {"tiled", 108, 1, 4}, {"_", 112, 4, 4},
	}}, got)
	twin, err := Of(reflect.TypeOf(struct {
		sort                 inner
		cScale               limbs
		first                uint64
		headBuckets, buckets uint64
		logSize, tiled       uint32
		_                    [4]uint32
	}{sort: inner{scalars: 0, k: [9]uint32{}, n: 0}}))
	require.NoError(t, err)
	assert.Equal(t, got, twin)
}

func TestTwinsThatDiffer(t *testing.T) {
	want := read(t).Arguments["made_up_sum"]
	for name, twin := range map[string]any{
		"two fields of one size swapped": struct {
			sort                 inner
			cScale               limbs
			first                uint64
			buckets, headBuckets uint64
			logSize, tiled       uint32
			_                    [4]uint32
		}{},
		"a field of another size": struct {
			sort                 inner
			cScale               limbs
			first                uint32
			headBuckets, buckets uint64
			logSize, tiled       uint32
			_                    [4]uint32
		}{},
		"an array of other length": struct {
			sort                 inner
			cScale               [6]uint32
			first                uint64
			headBuckets, buckets uint64
			logSize, tiled       uint32
			_                    [6]uint32
		}{},
		"a field with another name": struct {
			sort                 inner
			cScale               limbs
			first                uint64
			headBuckets, buckets uint64
			logN, tiled          uint32
			_                    [4]uint32
		}{},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Of(reflect.TypeOf(twin))
			require.NoError(t, err)
			assert.NotEqual(t, want, got)
		})
	}
}

func TestConstants(t *testing.T) {
	got := read(t).Constants
	for name, want := range map[string]int64{"BATCH": 2048, "NEVER_USED": 7, "MODE_NONE": 0, "MODE_ALL": 3} {
		assert.Equal(t, []int64{want}, got[name], name)
	}
}
