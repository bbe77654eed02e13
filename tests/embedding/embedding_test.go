// Package embedding_test puts the library into processes that make life hard
// for it: see docs/embedding.md for what is promised.
package embedding_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/tests/c/cbuild"
)

const (
	// secondsEnv says for how many seconds each Go host is kept under load.
	secondsEnv     = "CUZK_EMBED_SECONDS"
	defaultSeconds = 3

	// A program that hangs is killed this long after it should have ended.
	patience = 5 * time.Minute
)

func examples() string { return filepath.Join(cbuild.Root(), "bindings", "c", "examples") }

func golden(name string) string { return filepath.Join(cbuild.Golden(), name) }

// run runs a program that must end by itself.
func run(t *testing.T, limit time.Duration, program string, args ...string) string {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.WaitDelay = time.Minute // for its output, on a busy machine
	timer := time.AfterFunc(limit, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	return cbuild.Run(t, cmd)
}

func TestHazards(t *testing.T) {
	library := filepath.Join(cbuild.Shared(t), "libcuzk.so")
	program := filepath.Join(t.TempDir(), "hazards")
	cbuild.Run(t, exec.Command("gcc", "-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror",
		"-Wl,--export-dynamic-symbol=pthread_create",
		"-I"+filepath.Join(cbuild.Root(), "include"), "-I"+examples(), "-o", program,
		"testdata/hazards.c", filepath.Join(examples(), "gv.c"), "-ldl", "-lpthread"))
	names := strings.Fields(cbuild.Run(t, exec.Command(program, "list")))
	require.NotEmpty(t, names)
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			run(t, patience, program, name, library, golden("mimc.params"), golden("mimc.gv"))
		})
	}
}

// Two Go runtimes in one process, the second loaded at run time.
func TestGoHostThatLoadsTheSharedLibrary(t *testing.T) {
	library := filepath.Join(cbuild.Shared(t), "libcuzk.so")
	goHost(t, library, "", "-ldl")
}

// Two Go runtimes in one executable.
func TestGoHostWithTheStaticArchive(t *testing.T) {
	archive := filepath.Join(cbuild.Static(t), "libcuzk.a")
	goHost(t, "linked-in", "-DHOST_STATIC", archive+" -ldl -lpthread -lm")
}

func goHost(t *testing.T, library, cflags, ldflags string) {
	program := filepath.Join(t.TempDir(), "gohost")
	build := exec.Command("go", "build", "-o", program, "./testdata/gohost")
	build.Env = cbuild.Env("CGO_ENABLED=1",
		"CGO_CFLAGS=-O1 -I"+filepath.Join(cbuild.Root(), "include")+" -I"+examples()+" "+cflags,
		"CGO_LDFLAGS="+ldflags)
	cbuild.Run(t, build)
	seconds := loadSeconds(t)
	out := run(t, time.Duration(seconds)*time.Second+patience, program, library, golden("mimc.params"), golden("mimc.gv"), strconv.Itoa(seconds))
	t.Log(strings.TrimSpace(out))
}

func loadSeconds(t *testing.T) int {
	text := os.Getenv(secondsEnv)
	if text == "" {
		return defaultSeconds
	}
	seconds, err := strconv.Atoi(text)
	require.NoError(t, err, secondsEnv)
	require.Positive(t, seconds, secondsEnv)
	return seconds
}
