// Package c_test drives the library from C: the harness, built with
// sanitizers, and the examples.
package c_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/tests/c/cbuild"
	"github.com/libcuzk/libcuzk/tests/golden"
)

// A suite that hangs is killed, with the output it made so far.
const suiteTimeout = 10 * time.Minute

func harness(t *testing.T) string {
	examples := filepath.Join(cbuild.Root(), "bindings", "c", "examples")
	sources, err := filepath.Glob("harness/*.c")
	require.NoError(t, err)
	require.NotEmpty(t, sources)
	sources = append(sources, filepath.Join(examples, "gv.c"))
	return cbuild.Compile(t, "harness", append(cbuild.Sanitizers, "-I"+examples), sources...)
}

func runSuite(t *testing.T, program, suite, golden string, env []string) {
	t.Log(strings.TrimSpace(suiteOutput(t, program, suite, golden, env)))
}

func suiteOutput(t *testing.T, program, suite, golden string, env []string) string {
	cmd := exec.Command(program, suite, golden, t.TempDir())
	cmd.Env = append(env, "ASAN_OPTIONS=detect_leaks=1:abort_on_error=0:use_sigaltstack=0", "UBSAN_OPTIONS=print_stacktrace=1")
	cmd.WaitDelay = time.Minute // for its output, on a busy machine
	timer := time.AfterFunc(suiteTimeout, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	return cbuild.Run(t, cmd)
}

func TestHarness(t *testing.T) {
	program := harness(t)
	suites := strings.Fields(cbuild.Run(t, exec.Command(program, "list")))
	require.NotEmpty(t, suites)
	for _, suite := range suites {
		t.Run(suite, func(t *testing.T) {
			env := cbuild.Env()
			if suite == "integers" {
				env = append(env, "GOGC=1")
			}
			runSuite(t, program, suite, cbuild.Golden(), env)
		})
	}
}

func TestHarnessWithTheLargeCase(t *testing.T) {
	large, err := golden.Large()
	if errors.Is(err, golden.ErrAbsent) && os.Getenv(golden.DirEnv) == "" {
		t.Skip(err)
	}
	require.NoError(t, err)
	program := harness(t)
	for _, suite := range []string{"golden_large", "threads_large", "supraseal_threads_large"} {
		t.Run(suite, func(t *testing.T) { runSuite(t, program, suite, filepath.Dir(large.Params), cbuild.Env()) })
	}
}

// The same through the CUDA back end, on the simulator, as far as it is fast
// enough: what is refused, and small proofs.
func TestHarnessOnTheSimulator(t *testing.T) {
	env := cbuild.Simulator(t)
	program := harness(t)
	for _, suite := range []string{
		"versions", "values", "handles", "arguments", "assignment", "files", "golden_small", "log", "memory", "supraseal_refusals",
	} {
		t.Run(suite, func(t *testing.T) { runSuite(t, program, suite, cbuild.Golden(), env) })
	}
}
