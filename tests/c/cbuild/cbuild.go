// Package cbuild builds the C library and C programs against it for tests.
package cbuild

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/cuda/image"
	"github.com/libcuzk/libcuzk/cuda/kernels"
)

// Root is the repository's root.
func Root() string {
	_, file, _, _ := runtime.Caller(0)
	if !filepath.IsAbs(file) { // built with -trimpath: tests run in their folder
		file, _ = filepath.Abs(filepath.Join("..", "c", "cbuild", filepath.Base(file)))
	}
	return filepath.Join(filepath.Dir(file), "..", "..", "..")
}

// Golden is the folder of the small golden cases.
func Golden() string { return filepath.Join(Root(), "tests", "golden") }

// Sanitizers are the flags of a sanitized build. leakcheck is left to the
// programs: the Go runtime's memory is no leak.
var Sanitizers = []string{"-fsanitize=address,undefined", "-fno-sanitize-recover=undefined", "-fno-omit-frame-pointer", "-g"}

var build = map[string]func() ([]byte, error){
	"lib":    sync.OnceValues(func() ([]byte, error) { return script("lib") }),
	"static": sync.OnceValues(func() ([]byte, error) { return script("static") }),
}

func script(args ...string) ([]byte, error) {
	return exec.Command(filepath.Join(Root(), "capi", "build.sh"), args...).CombinedOutput()
}

// Shared brings build/libcuzk.so and the headers up to date and returns the
// folder that holds them.
func Shared(t *testing.T) string { return built(t, "lib") }

// Static is Shared for build/libcuzk.a.
func Static(t *testing.T) string { return built(t, "static") }

func built(t *testing.T, what string) string {
	t.Helper()
	readSources(t)
	out, err := build[what]()
	require.NoError(t, err, "capi/build.sh %s:\n%s", what, out)
	return filepath.Join(Root(), "build")
}

// Sources are the files and folders that the library is built and installed from.
var Sources = []string{"bindings/c", "capi", "cuda", "engine", "go.mod", "go.sum", "include", "internal"}

// readSources looks at all Sources, so that the go command, which does not see
// what a script reads, knows when a cached result of a test is stale.
func readSources(t *testing.T) {
	t.Helper()
	for _, source := range Sources {
		err := filepath.WalkDir(filepath.Join(Root(), source), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			_, err = os.Stat(path)
			return err
		})
		require.NoError(t, err)
	}
}

// Install installs what is built under a new prefix, which it returns.
func Install(t *testing.T) string {
	t.Helper()
	prefix := filepath.Join(t.TempDir(), "prefix")
	out, err := script("install", prefix)
	require.NoError(t, err, "capi/build.sh install:\n%s", out)
	return prefix
}

// Compile makes a C program of sources that is linked with the shared library
// and finds it at run time.
func Compile(t *testing.T, name string, flags []string, sources ...string) string {
	t.Helper()
	lib := Shared(t)
	program := filepath.Join(t.TempDir(), name)
	args := append([]string{"-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-I" + filepath.Join(lib, "include")}, flags...)
	args = append(args, "-o", program)
	args = append(args, sources...)
	args = append(args, "-L"+lib, "-lcuzk", "-Wl,-rpath,"+lib, "-lpthread", "-ldl")
	Run(t, exec.Command("gcc", args...))
	return program
}

// Run runs cmd, which must succeed, and returns its output.
func Run(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%v:\n%s", cmd.Args, out)
	return string(out)
}

// Simulator builds the simulated CUDA driver and returns the environment in
// which the library takes it for a GPU.
func Simulator(t *testing.T) []string {
	t.Helper()
	Run(t, exec.Command(filepath.Join(Root(), "tests", "cudasim", "build.sh"), "kernels"))
	// The simulator has the kernels in itself; this stands for the images.
	images := t.TempDir()
	for _, name := range kernels.Names {
		require.NoError(t, os.WriteFile(filepath.Join(images, name+kernels.Extension), []byte("CUDASIM"), 0o600))
	}
	driver := filepath.Join(Root(), "build", "cudasim", "libcuda.so.1")
	return Env("CUZK_CUDA_LIB="+driver, image.Variable+"="+images)
}

// Env is the environment with more variables.
func Env(more ...string) []string { return append(os.Environ(), more...) }
