package c_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/tests/c/cbuild"
)

// readme returns the one block of README.md that is fenced as language. The
// Rust one is a documentation test of the crate cuzk.
func readme(t *testing.T, language string) []byte {
	text, err := os.ReadFile(filepath.Join(cbuild.Root(), "README.md"))
	require.NoError(t, err)
	blocks := regexp.MustCompile("(?ms)^```"+language+"\n(.*?)^```$").FindAllSubmatch(text, -1)
	require.Len(t, blocks, 1)
	return blocks[0][1]
}

func TestTheCOfTheReadmeCompiles(t *testing.T) {
	source := filepath.Join(t.TempDir(), "readme.c")
	require.NoError(t, os.WriteFile(source, readme(t, "c"), 0o600))
	cbuild.Run(t, exec.Command("gcc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only",
		"-I"+filepath.Join(cbuild.Root(), "include"), source))
}

func TestTheGoOfTheReadmeCompiles(t *testing.T) {
	folder := t.TempDir()
	source, overlay := filepath.Join(folder, "readme.go"), filepath.Join(folder, "overlay.json")
	require.NoError(t, os.WriteFile(source, readme(t, "go"), 0o600))
	// A package of this module that is not on the disk.
	text, err := json.Marshal(map[string]any{"Replace": map[string]string{
		filepath.Join(cbuild.Root(), "tests", "c", "readme", "readme.go"): source,
	}})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(overlay, text, 0o600))
	build := exec.Command("go", "build", "-overlay", overlay, "./tests/c/readme")
	build.Dir = cbuild.Root()
	cbuild.Run(t, build)
	require.Empty(t, cbuild.Run(t, exec.Command("gofmt", "-l", source)), "not formatted")
}
