package c_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/tests/c/cbuild"
)

// The examples as a stranger builds them: against an installed prefix, which
// has been moved since.
func TestExamples(t *testing.T) {
	cbuild.Shared(t)
	cbuild.Static(t)
	moved := filepath.Join(t.TempDir(), "moved")
	require.NoError(t, os.Rename(cbuild.Install(t), moved))
	source := filepath.Join(cbuild.Root(), "bindings", "c", "examples")

	t.Run("with CMake", func(t *testing.T) {
		build := t.TempDir()
		cbuild.Run(t, exec.Command("cmake", "-S", source, "-B", build, "-DCMAKE_PREFIX_PATH="+moved, "-DCMAKE_C_FLAGS=-Wall -Wextra -Werror"))
		cbuild.Run(t, exec.Command("cmake", "--build", build))
		useExamples(t, build)
	})
	t.Run("with CMake, against the static archive", func(t *testing.T) {
		build := t.TempDir()
		cbuild.Run(t, exec.Command("cmake", "-S", source, "-B", build, "-DCMAKE_PREFIX_PATH="+moved, "-DCUZK_STATIC=ON"))
		cbuild.Run(t, exec.Command("cmake", "--build", build))
		out := cbuild.Run(t, exec.Command("ldd", filepath.Join(build, "prove")))
		assert.NotContains(t, out, "libcuzk")
		useExamples(t, build)
	})
	t.Run("with make and pkg-config", func(t *testing.T) {
		build := t.TempDir()
		make := exec.Command("make", "-C", source, "OUT="+build, "CFLAGS=-O2 -Wall -Wextra -Werror")
		make.Env = cbuild.Env("PKG_CONFIG_PATH=" + filepath.Join(moved, "lib", "pkgconfig"))
		cbuild.Run(t, make)
		useExamples(t, build)
	})
}

func useExamples(t *testing.T, dir string) {
	golden := func(name string) string { return filepath.Join(cbuild.Golden(), name) }
	program := func(name string, args ...string) *exec.Cmd { return exec.Command(filepath.Join(dir, name), args...) }
	proof := filepath.Join(t.TempDir(), "mimc.proof")

	assert.Contains(t, cbuild.Run(t, program("prove", golden("mimc.params"), golden("mimc.gv"), proof)), "proved 646 rows")
	assert.Contains(t, cbuild.Run(t, program("verify", golden("mimc.params"), golden("mimc.gv"), proof)), "the proof verifies")

	// Other public inputs, a changed byte, a file that is no proof.
	refuses(t, 1, "does NOT verify", program("verify", golden("mimc.params"), golden("mimc.1.gv"), proof))
	bytes, err := os.ReadFile(proof)
	require.NoError(t, err)
	require.Len(t, bytes, 192)
	bytes[100] ^= 1
	require.NoError(t, os.WriteFile(proof, bytes, 0o600))
	refuses(t, 1, "does NOT verify", program("verify", golden("mimc.params"), golden("mimc.gv"), proof))
	refuses(t, 2, "shorter than 192 bytes", program("verify", golden("mimc.params"), golden("mimc.gv"), "/dev/null"))
	refuses(t, 1, "CUZK_ERR_FILE_IO", program("prove", golden("missing.params"), golden("mimc.gv"), proof))
	refuses(t, 1, "not a .gv file", program("prove", golden("mimc.params"), golden("mimc.params"), proof))
	refuses(t, 1, "CUZK_ERR_SRS_MISMATCH", program("prove", golden("mimc.params"), golden("two.gv"), proof))

	out := cbuild.Run(t, program("start_wait", golden("mimc.params"), golden("mimc.gv"), golden("mimc.1.gv"), golden("mimc.2.gv")))
	assert.Contains(t, out, "rows read")
	assert.Contains(t, out, "3 proofs done")

	out = cbuild.Run(t, program("demo", golden("mimc.params"), golden("mimc.gv")))
	assert.Contains(t, out, "byte for byte bellperson's proof")
	assert.Contains(t, out, "refused with CUZK_ERR_PROOF")
}

// refuses runs a program that must end with code and say text.
func refuses(t *testing.T, code int, text string, cmd *exec.Cmd) {
	t.Helper()
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit, "%s", out)
	assert.Equal(t, code, exit.ExitCode(), "%s", out)
	assert.Contains(t, string(out), text)
}
