package main

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/engine"
	"github.com/libcuzk/libcuzk/engine/backend"
	"github.com/libcuzk/libcuzk/engine/groth16"
	"github.com/libcuzk/libcuzk/engine/srs"
	"github.com/libcuzk/libcuzk/internal/driver"
	"github.com/libcuzk/libcuzk/internal/hostmem"
	"github.com/libcuzk/libcuzk/internal/par"
	"github.com/libcuzk/libcuzk/internal/sched"
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
	for name, c := range map[string]struct {
		err  error
		want int
	}{
		"a panic on a goroutine of the CPU":   {fmt.Errorf("cpu: %w", panicked), 901},
		"a buffer that cannot be had":         {fmt.Errorf("cpu: %w", unmapped), 402},
		"an error of another package":         {errors.New("surprise"), 901},
		"a mistake inside a kind of mistakes": {groth16.ErrPopcount, 106},
		"a wrong number of variables":         {groth16.ErrAuxCount, 107},
		"rows that do not fit each other":     {groth16.ErrRowCount, 105},
		"a cancelled context":                 {fmt.Errorf("%w: %w", engine.ErrCancelled, context.Canceled), 501},
		"a file that changed while read":      {fmt.Errorf("%w: %w", srs.ErrChanged, srs.ErrTruncated), 207},
		"a job larger than the budget":        {fmt.Errorf("cuda: %w", &vram.TooLargeError{}), 401},
		"a driver call out of memory":         {fmt.Errorf("cuda: %w", &driver.Error{Code: driver.ErrorOutOfMemory}), 401},
		"a driver call after which all fail":  {fmt.Errorf("cuda: %w", &driver.Error{Code: 700}), 303},
		"a device lost for good":              {fmt.Errorf("engine: no device is left: %w", &backend.GoneError{Err: &driver.Error{Code: 700}}), 303},
		"a device lost by a driver call":      {fmt.Errorf("%w: %w", sched.ErrDeviceLost, &driver.Error{Code: 1}), 303},
		"another driver call":                 {fmt.Errorf("cuda: %w", &driver.Error{Code: driver.ErrorInvalidValue}), 302},
	} {
		t.Run(name, func(t *testing.T) { assert.EqualValues(t, c.want, statusOf(c.err)) })
	}
}

// Every sentinel that the engine's packages declare has a status: a new one
// that nobody thought of here would come out as a bug of the library.
func TestEverySentinelHasAStatus(t *testing.T) {
	ours, err := os.ReadFile("errors.go")
	require.NoError(t, err)
	internal := []string{"srs.ErrRange"} // a bug of the engine, never an answer
	for pkg, path := range map[string]string{
		"engine":  "../engine/errors.go",
		"groth16": "../engine/groth16/errors.go",
		"srs":     "../engine/srs/errors.go",
		"hostmem": "../internal/hostmem/hostmem.go",
	} {
		names := sentinels(t, path)
		require.NotEmpty(t, names, path)
		for _, name := range names {
			if full := pkg + "." + name; !assert.ObjectsAreEqual([]string{full}, internal) {
				assert.Contains(t, string(ours), "{"+full+",", "no status for %s", full)
			}
		}
	}
}

// sentinels lists the variables made by errors.New; those that wrap one of
// them have its status.
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
		if f, ok := call.Fun.(*ast.SelectorExpr); ok && f.Sel.Name == "New" {
			names = append(names, spec.Names[0].Name)
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
