//go:build linux && (amd64 || arm64)

package cudasim

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/ebitengine/purego"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/cuda/image"
	"github.com/libcuzk/libcuzk/cuda/kernels"
)

// LibraryVariable names the driver library to load instead of the system's.
const LibraryVariable = "CUZK_CUDA_LIB"

// RequireVariable set to 1 makes a missing compiler a failure instead of a skip.
const RequireVariable = "CUZK_REQUIRE_CUDASIM"

// imageMarker is what the simulator takes for a kernel image: it has the
// kernels in itself.
const imageMarker = "CUDASIM"

// library is the simulator loaded into this process. Its functions are those
// of src/control.cpp.
type library struct {
	reset        func()
	configure    func(lines string, wrong *byte, wrongBytes uint64) int32
	report       func(buffer *byte, bytes uint64) uint64
	run          func(n uint64) uint64
	forbidThread func()
	seize        func(device int32, bytes int64)
	unhang       func()
}

var loaded struct {
	sync.Mutex
	set     string // build.sh's argument
	library *library
}

// Sim is the simulator for the length of one test.
type Sim struct {
	t        testing.TB
	library  *library
	expected map[string]bool
	leftOver bool
}

// New builds the simulator with the kernels of cuda/kernels, makes it the
// process's driver, and sets it up. At the end of the test, any violation and
// anything not given back fail the test.
func New(t testing.TB, c Config) *Sim {
	t.Helper()
	return open(t, "kernels", c)
}

// open is New for a set of kernels that build.sh knows.
func open(t testing.TB, set string, c Config) *Sim {
	t.Helper()
	s := &Sim{t: t, library: load(t, set), expected: map[string]bool{}}
	s.library.reset()
	s.Configure(c.lines())
	t.Cleanup(s.finish)
	return s
}

// load builds and loads a set of kernels, once a process.
func load(t testing.TB, set string) *library {
	t.Helper()
	loaded.Lock()
	defer loaded.Unlock()
	if loaded.library != nil {
		require.Equal(t, loaded.set, set, "a process loads one simulator")
		return loaded.library
	}
	if _, err := exec.LookPath("g++"); err != nil && os.Getenv(RequireVariable) != "1" && os.Getenv("CXX") == "" {
		t.Skipf("cudasim needs g++ (Debian package g++); %s=1 makes this a failure", RequireVariable)
	}
	root := root(t)
	build := exec.Command(filepath.Join(root, "tests", "cudasim", "build.sh"), set)
	output, err := build.CombinedOutput()
	require.NoError(t, err, "build.sh %s:\n%s", set, output)
	folder := filepath.Join(root, "build", "cudasim")
	path := filepath.Join(folder, "libcuda.so.1")
	if set != "kernels" {
		path = filepath.Join(folder, set, "libcuda.so.1")
	}
	require.NoError(t, os.Setenv(LibraryVariable, path))
	require.NoError(t, os.Setenv(image.Variable, markerImages(t, filepath.Join(folder, "images"))))
	loaded.library, loaded.set = bind(t, path), set
	return loaded.library
}

func root(t testing.TB) string {
	t.Helper()
	_, self, _, ok := runtime.Caller(0)
	require.True(t, ok, "the test binary knows its source files")
	return filepath.Dir(filepath.Dir(filepath.Dir(self)))
}

// markerImages fills a folder with what stands for the kernel images. Tests of
// other packages read it at the same time: each file is there whole or not yet.
func markerImages(t testing.TB, folder string) string {
	t.Helper()
	require.NoError(t, os.MkdirAll(folder, 0o755))
	for _, name := range kernels.Names {
		path := filepath.Join(folder, name+kernels.Extension)
		if there, err := os.ReadFile(path); err == nil && string(there) == imageMarker {
			continue
		}
		whole, err := os.CreateTemp(folder, name)
		require.NoError(t, err)
		_, err = whole.WriteString(imageMarker)
		require.NoError(t, errors.Join(err, whole.Chmod(0o644), whole.Close()))
		require.NoError(t, os.Rename(whole.Name(), path))
	}
	return folder
}

func bind(t testing.TB, path string) *library {
	t.Helper()
	runtime.LockOSThread() // dlerror is kept per thread
	defer runtime.UnlockOSThread()
	handle, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
	require.NoError(t, err)
	l := &library{}
	for name, field := range map[string]any{
		"reset": &l.reset, "configure": &l.configure, "report": &l.report,
		"run": &l.run, "forbid_thread": &l.forbidThread, "seize": &l.seize, "unhang": &l.unhang,
	} {
		address, err := purego.Dlsym(handle, "cudasim_"+name)
		require.NoError(t, err)
		purego.RegisterFunc(field, address)
	}
	return l
}

// Configure passes lines of settings and faults on (src/config.h).
func (s *Sim) Configure(lines string) {
	s.t.Helper()
	var wrong [256]byte
	code := s.library.configure(lines, &wrong[0], uint64(len(wrong)))
	text, _, _ := strings.Cut(string(wrong[:]), "\x00")
	require.Zero(s.t, code, "cudasim: %s", text)
}

// Fault adds a fault, counted from now on.
func (s *Sim) Fault(f Fault) {
	s.t.Helper()
	s.Configure(f.line())
}

// ClearFaults takes all faults away. A context that a sticky one broke stays broken.
func (s *Sim) ClearFaults() {
	s.t.Helper()
	s.Configure("nofaults")
}

// Seize gives device memory to a neighbour; negative takes it back.
func (s *Sim) Seize(device int, bytes int64) { s.library.seize(int32(device), bytes) }

// Run runs up to n outstanding operations and returns how many there were.
func (s *Sim) Run(n uint64) uint64 { return s.library.run(n) }

// ForbidThisThread makes driver calls of this OS thread violations. The
// goroutine stays locked to it until the test ends.
func (s *Sim) ForbidThisThread() {
	runtime.LockOSThread()
	s.t.Cleanup(runtime.UnlockOSThread)
	s.library.forbidThread()
}

// Unhang ends the operations that a fault made never end.
func (s *Sim) Unhang() { s.library.unhang() }

// Expect says that the test plants a violation of this kind: it must be found,
// and does not fail the test.
func (s *Sim) Expect(kind string) { s.expected[kind] = true }

// AllowLeftOver says that the test leaves something behind on purpose.
func (s *Sim) AllowLeftOver() { s.leftOver = true }

// Report is what has been seen since the test began.
func (s *Sim) Report() Report {
	s.t.Helper()
	buffer := make([]byte, 1<<16)
	for {
		n := s.library.report((*byte)(unsafe.SliceData(buffer)), uint64(len(buffer)))
		if n <= uint64(len(buffer)) {
			var r Report
			require.NoError(s.t, json.Unmarshal(buffer[:n], &r), "cudasim: report")
			return r
		}
		buffer = make([]byte, n+n/2)
	}
}

func (s *Sim) finish() {
	s.t.Helper()
	r := s.Report()
	found := map[string]bool{}
	for _, v := range r.Violations {
		found[v.Kind] = true
		if !s.expected[v.Kind] {
			s.t.Errorf("cudasim: %s: %s", v.Kind, v.Message)
		}
	}
	for kind := range s.expected {
		if !found[kind] {
			s.t.Errorf("cudasim: no violation of kind %q was found", kind)
		}
	}
	if left := r.Live; left != (Live{}) && !s.leftOver && r.FailedReleases == 0 {
		s.t.Errorf("cudasim: left at the end: %s", fmt.Sprintf("%+v", left))
	}
	s.library.reset()
}
