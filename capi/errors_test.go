package main

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/cuda"
	"github.com/libcuzk/libcuzk/cuda/driver"
	"github.com/libcuzk/libcuzk/cuda/image"
	"github.com/libcuzk/libcuzk/engine"
	"github.com/libcuzk/libcuzk/engine/backend"
	"github.com/libcuzk/libcuzk/engine/groth16"
	"github.com/libcuzk/libcuzk/engine/srs"
	"github.com/libcuzk/libcuzk/internal/hostmem"
	"github.com/libcuzk/libcuzk/internal/par"
	"github.com/libcuzk/libcuzk/internal/sched"
	"github.com/libcuzk/libcuzk/internal/sentinel"
	"github.com/libcuzk/libcuzk/internal/settings"
	"github.com/libcuzk/libcuzk/internal/vram"
)

func TestStatusOf(t *testing.T) {
	for _, s := range statuses {
		assert.Equal(t, s.status, statusOf(fmt.Errorf("partition 3: %w", s.err)), "%v", s.err)
	}
	panicked := par.For(t.Context(), 2, 2, func(int) error { panic("boom") })
	require.ErrorContains(t, panicked, "boom")
	_, unmapped := hostmem.Get[byte](new(hostmem.Pool), 1<<50)
	require.Error(t, unmapped)
	_, unset := settings.Parse(func(string) (string, bool) { return "no value of any", true })
	require.Error(t, unset)
	queue := sched.NewQueue[int]()
	queue.Close()
	_, unqueued := queue.Push(1, sched.Low)
	require.Error(t, unqueued)
	t.Setenv(image.Variable, t.TempDir())
	_, imageless := image.Find()
	require.Error(t, imageless)
	lost := sentinel.Wrap(engine.ErrDeviceLost, errors.New("CUresult 700"))
	for name, c := range map[string]struct {
		err  error
		want int
	}{
		"a panic on a goroutine of the CPU":   {fmt.Errorf("cpu: %w", panicked), 901},
		"a buffer that cannot be had":         {fmt.Errorf("cpu: %w", unmapped), 402},
		"points that cannot be had":           {fmt.Errorf("srs: %w", srs.ErrMemory), 402},
		"points that cannot be pinned":        {fmt.Errorf("cuda: %w: %w", srs.ErrMemory, engine.ErrDeviceMemory), 402},
		"an error of another package":         {errors.New("surprise"), 901},
		"a mistake inside a kind of mistakes": {groth16.ErrPopcount, 106},
		"a wrong number of variables":         {groth16.ErrAuxCount, 107},
		"rows that do not fit each other":     {groth16.ErrRowCount, 105},
		"a cancelled context":                 {fmt.Errorf("%w: %w", engine.ErrCancelled, context.Canceled), 501},
		"a cancelled context alone":           {fmt.Errorf("srs: %w", context.Canceled), 501},
		"a file that changed while read":      {fmt.Errorf("%w: %w", srs.ErrChanged, srs.ErrTruncated), 207},
		"a set that was released":             {fmt.Errorf("cpu: %w", srs.ErrReleased), 103},
		"a variable's value":                  {unset, 110},
		"a queue that is closed":              {unqueued, 503},
		"a device that is closed":             {fmt.Errorf("cpu: %w", backend.ErrClosed), 503},
		"no kernels":                          {imageless, 301},
		"an old driver":                       {fmt.Errorf("cuda: %w", driver.ErrOldDriver), 301},
		"a budget below the context's":        {fmt.Errorf("%w: 1 byte", cuda.ErrBudget), 401},
		"a device in other hands":             {fmt.Errorf("%w: gpu0", cuda.ErrFull), 401},
		"a job larger than the budget":        {fmt.Errorf("cuda: %w", &vram.TooLargeError{}), 401},
		"memory that others use":              {fmt.Errorf("cuda: %w", sched.ErrNoMemory), 401},
		"a device failure":                    {fmt.Errorf("cuda: %w", sentinel.Wrap(engine.ErrDevice, errors.New("CUresult 1"))), 302},
		"a device that is lost":               {fmt.Errorf("cuda: %w", lost), 303},
		"a device that is lost for good":      {fmt.Errorf("engine: no device is left: %w", &backend.GoneError{Err: errors.New("CUresult 700")}), 303},
		"a device that the scheduler lost":    {fmt.Errorf("%w: %w", sched.ErrDeviceLost, sentinel.Wrap(engine.ErrDevice, errors.New("CUresult 1"))), 303},
	} {
		t.Run(name, func(t *testing.T) { assert.EqualValues(t, c.want, statusOf(c.err)) })
	}
}

// Every sentinel that the engine and what it calls declares has a status: a new
// one that nobody thought of here would come out as a bug of the library.
func TestEverySentinelHasAStatus(t *testing.T) {
	ours, err := os.ReadFile("errors.go")
	require.NoError(t, err)
	within := map[string]string{ // never an answer of an export, and why
		"srs.ErrRange":           "a request past a section: a bug of the engine's",
		"driver.ErrClosed":       "package cuda says that the device is lost",
		"devcontext.ErrClock":    "a recording goes on without the device's spans",
		"registered.ErrNoneOpen": "host memory stays unpinned, and the log says so",
		"gv.ErrFormat":           "for tests",
		"synth.ErrShape":         "for tests",
	}
	found := 0
	for _, file := range sources(t, "../cuda", "../engine", "../internal") {
		pkg := filepath.Base(filepath.Dir(file))
		if pkg == "sentinel" {
			pkg = "engine" // where users find them
		}
		for _, name := range sentinels(t, file) {
			found++
			full := pkg + "." + name
			if _, stays := within[full]; stays {
				delete(within, full)
				continue
			}
			assert.True(t, strings.Contains(string(ours), "{"+full+","), "no status for %s of %s", full, file)
		}
	}
	assert.Greater(t, found, 30)
	assert.Empty(t, within, "no such sentinels")
}

// sources are the Go files below folders, without tests.
func sources(t *testing.T, folders ...string) []string {
	var files []string
	for _, folder := range folders {
		require.NoError(t, filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
			if filepath.Ext(path) == ".go" && !strings.HasSuffix(path, "_test.go") {
				files = append(files, path)
			}
			return err
		}))
	}
	return files
}

// sentinels lists the exported variables made by errors.New; those that are of
// the kind of another have its status.
func sentinels(t *testing.T, path string) []string {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	require.NoError(t, err)
	var names []string
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 {
			return true
		}
		call, ok := spec.Values[0].(*ast.CallExpr)
		if !ok {
			return true
		}
		name := spec.Names[0].Name
		if f, ok := call.Fun.(*ast.SelectorExpr); ok && types.ExprString(f) == "errors.New" && ast.IsExported(name) {
			names = append(names, name)
		}
		return true
	})
	return names
}

func TestCallContainsPanics(t *testing.T) {
	for name, body := range map[string]func() error{
		"a panic with a value":       func() error { panic("boom") },
		"an index out of range":      func() error { var s []int; _ = s[len(os.Args)]; return nil },
		"a nil pointer, dereference": func() error { var p *int; _ = *p; return nil },
	} {
		t.Run(name, func(t *testing.T) {
			assert.EqualValues(t, 901, call("cuzk_test", body))
		})
	}
}
