package c_test

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/libcuzk/libcuzk/tests/c/cbuild"
)

func TestARelativePrefixCountsFromWhereTheScriptWasCalled(t *testing.T) {
	cbuild.Shared(t)
	for _, script := range []string{"build.sh", filepath.Join("capi", "build.sh")} {
		t.Run(script, func(t *testing.T) {
			folder := t.TempDir()
			cmd := exec.Command(filepath.Join(cbuild.Root(), script), "install", filepath.Join("some", "prefix"))
			cmd.Dir = folder
			cbuild.Run(t, cmd)
			assert.FileExists(t, filepath.Join(folder, "some", "prefix", "include", "cuzk.h"))
			assert.FileExists(t, filepath.Join(folder, "some", "prefix", "lib", "libcuzk.so"))
		})
	}
}
