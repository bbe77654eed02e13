package abi_test

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/tests/c/cbuild"
)

// symbols runs nm with flags on a library and returns the names of functions
// and data, without their version.
func symbols(t *testing.T, path string, flags ...string) []string {
	out := cbuild.Run(t, exec.Command("nm", append(flags, path)...))
	var names []string
	for _, line := range strings.Split(out, "\n") {
		fields := strings.Fields(line)
		if len(fields) != 3 || fields[1] == "A" { // A: the version node itself
			continue
		}
		name, _, _ := strings.Cut(fields[2], "@")
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func TestSharedLibraryExportsTheHeadersOnly(t *testing.T) {
	lib := filepath.Join(cbuild.Shared(t), "libcuzk.so")
	assert.Equal(t, allDeclared(t), symbols(t, lib, "-D", "--defined-only"))
}

func TestStaticArchiveExportsTheHeadersOnly(t *testing.T) {
	lib := filepath.Join(cbuild.Static(t), "libcuzk.a")
	assert.Equal(t, allDeclared(t), symbols(t, lib, "-g", "--defined-only"))
}

func TestSharedLibraryHeader(t *testing.T) {
	lib := filepath.Join(cbuild.Shared(t), "libcuzk.so")
	dynamic := cbuild.Run(t, exec.Command("readelf", "-dW", lib))
	assert.Regexp(t, `SONAME.*\[libcuzk\.so\.1\]`, dynamic)
	assert.Regexp(t, `FLAGS_1.*NODELETE`, dynamic, "dlclose would unmap a running Go runtime")
	assert.NotRegexp(t, `TEXTREL`, dynamic)
	needed := regexp.MustCompile(`NEEDED.*\[(.*)\]`).FindAllStringSubmatch(dynamic, -1)
	require.NotEmpty(t, needed)
	for _, n := range needed {
		assert.Regexp(t, `^(libc|libpthread|libdl|libm|ld-linux-\S+)\.so`, n[1], "the library needs more than the C library")
	}
	stack := cbuild.Run(t, exec.Command("readelf", "-lW", lib))
	assert.Regexp(t, `GNU_STACK.*RW `, stack, "the stack must not be executable")
}

func TestEverySymbolHasItsVersion(t *testing.T) {
	lib := filepath.Join(cbuild.Shared(t), "libcuzk.so")
	out := cbuild.Run(t, exec.Command("nm", "-D", "--defined-only", lib))
	for _, name := range allDeclared(t) {
		assert.Contains(t, out, " "+name+"@@CUZK_1\n")
	}
}

func TestInstalledTree(t *testing.T) {
	cbuild.Shared(t)
	cbuild.Static(t)
	prefix := cbuild.Install(t)
	for _, file := range []string{
		"include/cuzk.h", "include/supraseal_c2.h", "lib/libcuzk.a", "lib/libcuzk.so", "lib/libcuzk.so.1",
		"lib/pkgconfig/cuzk.pc", "lib/cmake/cuzk/cuzk-config.cmake", "lib/cmake/cuzk/cuzk-config-version.cmake",
	} {
		assert.FileExists(t, filepath.Join(prefix, file))
	}
	version := cbuild.Run(t, exec.Command("env", "PKG_CONFIG_PATH="+prefix+"/lib/pkgconfig", "pkg-config", "--modversion", "cuzk"))
	assert.Regexp(t, `^\d+\.\d+\.\d+\n$`, version)
}
