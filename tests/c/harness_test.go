// Package c_test drives the library from C: the harness, built with
// sanitizers, and the examples.
package c_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/tests/c/cbuild"
)

// A suite that hangs is killed, with the output it made so far.
const suiteTimeout = 5 * time.Minute

func TestHarness(t *testing.T) {
	examples := filepath.Join(cbuild.Root(), "bindings", "c", "examples")
	sources, err := filepath.Glob("harness/*.c")
	require.NoError(t, err)
	require.NotEmpty(t, sources)
	sources = append(sources, filepath.Join(examples, "gv.c"))
	program := cbuild.Compile(t, "harness", append(cbuild.Sanitizers, "-I"+examples), sources...)

	suites := strings.Fields(cbuild.Run(t, exec.Command(program, "list")))
	require.NotEmpty(t, suites)
	for _, suite := range suites {
		t.Run(suite, func(t *testing.T) {
			cmd := exec.Command(program, suite, cbuild.Golden(), t.TempDir())
			// Handles are allocated by Go: what C allocated must be freed.
			cmd.Env = cbuild.Env("ASAN_OPTIONS=detect_leaks=1:abort_on_error=0", "UBSAN_OPTIONS=print_stacktrace=1")
			cmd.WaitDelay = time.Second
			timer := time.AfterFunc(suiteTimeout, func() { _ = cmd.Process.Kill() })
			defer timer.Stop()
			t.Log(strings.TrimSpace(cbuild.Run(t, cmd)))
		})
	}
}
