package c_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/tests/c/cbuild"
)

func TestEnvironment(t *testing.T) {
	program := harness(t)
	for name, env := range map[string][]string{
		"valid values":          {"CUZK_BACKEND=cpu", "CUZK_WORKERS=2", "CUZK_VRAM_BUDGET=80%", "CUZK_LOG=off"},
		"a wrong number":        {"CUZK_WORKERS=65", `EXPECTED_ERROR=CUZK_WORKERS is "65", expected a whole number from 0 to 64`},
		"a wrong word":          {"CUZK_BACKEND=rocm", `EXPECTED_ERROR=CUZK_BACKEND is "rocm", expected auto, cuda or cpu`},
		"a wrong size":          {"CUZK_VRAM_BUDGET=16GB", `EXPECTED_ERROR=CUZK_VRAM_BUDGET is "16GB", expected a number of bytes`},
		"a folder that is none": {"CUZK_TIMELINE=/no/such/folder/t.json", "CUZK_LOG=warn"},
	} {
		t.Run(name, func(t *testing.T) {
			runSuite(t, program, "environment", cbuild.Golden(), cbuild.Env(env...))
		})
	}
}

// TestTimelineOfAProcess looks at the file after the process has ended without
// stopping the recording.
func TestTimelineOfAProcess(t *testing.T) {
	program := harness(t)
	folder := t.TempDir()
	runSuite(t, program, "golden_small", cbuild.Golden(), cbuild.Env("CUZK_BACKEND=cpu", "CUZK_TIMELINE="+filepath.Join(folder, "%p.json")))
	files, err := filepath.Glob(filepath.Join(folder, "*.json"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	text, err := os.ReadFile(files[0])
	require.NoError(t, err)
	var events []struct{ Name string }
	require.NoError(t, json.Unmarshal(text, &events), "complete, with its closing bracket")
	names := map[string]bool{}
	for _, e := range events {
		names[e.Name] = true
	}
	assert.Subset(t, names, map[string]bool{"queue": true, "partition": true, "quotient": true, "sums": true, "self-check": true})
}

// What cannot be recorded is said, and proofs are made all the same.
func TestTimelineThatCannotBeMade(t *testing.T) {
	program := harness(t)
	pipe := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	for name, path := range map[string]string{"no folder": "/no/such/folder/t.json", "a pipe": pipe} {
		t.Run(name, func(t *testing.T) {
			output := suiteOutput(t, program, "golden_small", cbuild.Golden(), cbuild.Env("CUZK_BACKEND=cpu", "CUZK_LOG=warn", "CUZK_TIMELINE="+path))
			assert.Contains(t, output, `level=WARN msg="no timeline: CUZK_TIMELINE names no file that can be made" path=`+path)
		})
	}
}

func TestLogOnStderr(t *testing.T) {
	program := harness(t)
	run := func(env ...string) string {
		var output string
		t.Run(env[0], func(t *testing.T) {
			output = suiteOutput(t, program, "golden_small", cbuild.Golden(), cbuild.Env(append(env, "CUZK_BACKEND=cpu", "CUZK_WORKER=3")...))
		})
		return output
	}
	debug := run("CUZK_LOG=debug")
	assert.Contains(t, debug, "level=DEBUG msg=proved job=1 partition=0")
	// Variables of the test run itself may be named beside it.
	unknown := `level=WARN msg="environment variables that are no settings of this library" names=([A-Z_]+,)*CUZK_WORKER[,\n]`
	assert.Regexp(t, unknown, debug)
	warn := run("CUZK_LOG=warn")
	assert.NotContains(t, warn, "level=DEBUG")
	assert.Regexp(t, unknown, warn)
	assert.NotContains(t, run("CUZK_LOG="), "level=")
}
