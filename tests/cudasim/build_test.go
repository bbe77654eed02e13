//go:build linux && (amd64 || arm64)

package cudasim

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// compilerScript stands for g++: an object is its source and the header, the
// library its objects and the map. The first time that it makes $EDIT_UNDER it
// edits $EDIT once it has read everything, and writes its own file after that.
const compilerScript = `#!/usr/bin/env bash
set -eu
inputs=() made= depends=
while [ $# -gt 0 ]; do
    case $1 in
    -o) made=$2 && shift ;;
    -MF) depends=$2 && shift ;;
    -x) shift ;;
    *.cpp | *.cu) inputs+=("$1" "$HEADER") ;;
    *.o) inputs+=("$1") ;;
    -Wl,--version-script=*) inputs+=("${1#*=}") ;;
    esac
    shift
done
cat "${inputs[@]}" >"$made"
[ -z "$depends" ] || echo "object: ${inputs[*]}" >"$depends"
name=$(basename "$made" .new)
echo "$name" >>"$LOG"
if [ "$name" = "${EDIT_UNDER:-}" ] && [ ! -e "$EDIT.edited" ]; then
    touch "$EDIT.edited"
    echo "edited while $name was made" >"$EDIT"
    until [ "$made" -nt "$EDIT" ]; do touch "$made"; done
fi
`

// buildTree is a repository of one source file of each kind, with build.sh.
type buildTree struct {
	t      *testing.T
	folder string
}

func newBuildTree(t *testing.T) buildTree {
	t.Helper()
	b := buildTree{t, t.TempDir()}
	script, err := os.ReadFile(filepath.Join(root(t), "tests", "cudasim", "build.sh"))
	require.NoError(t, err)
	b.write("tests/cudasim/build.sh", string(script))
	b.write("compiler", compilerScript)
	for _, source := range []string{driverSource, kernelSource, headerSource, mapSource} {
		b.write(source, "first "+source+"\n")
	}
	return b
}

// The files of a buildTree.
const (
	driverSource = "tests/cudasim/src/driver.cpp"
	kernelSource = "cuda/kernels/kernel.cu"
	headerSource = "cuda/kernels/header.cuh"
	mapSource    = "tests/cudasim/cudasim.map"
	libraryName  = "libcuda.so.1"
)

func (b buildTree) path(name string) string { return filepath.Join(b.folder, name) }

func (b buildTree) write(name, text string) {
	b.t.Helper()
	require.NoError(b.t, os.MkdirAll(filepath.Dir(b.path(name)), 0o755))
	require.NoError(b.t, os.WriteFile(b.path(name), []byte(text), 0o755)) //nolint:gosec // two of them are scripts
}

func (b buildTree) read(name string) string {
	b.t.Helper()
	text, err := os.ReadFile(b.path(name))
	require.NoError(b.t, err)
	return string(text)
}

// build runs build.sh and returns what it made, a name a line.
func (b buildTree) build(environment ...string) string {
	b.t.Helper()
	b.write("log", "")
	run := exec.Command(b.path("tests/cudasim/build.sh"))
	run.Env = append(os.Environ(), append(environment,
		"CXX="+b.path("compiler"), "HEADER="+b.path(headerSource), "LOG="+b.path("log"))...)
	output, err := run.CombinedOutput()
	require.NoError(b.t, err, "%s", output)
	return b.read("log")
}

// requireCurrent sees that the library is what its sources make it.
func (b buildTree) requireCurrent() {
	b.t.Helper()
	header := b.read(headerSource)
	want := b.read(driverSource) + header + b.read(kernelSource) + header + b.read(mapSource)
	require.Equal(b.t, want, b.read("build/cudasim/"+libraryName))
}

// TestBuildMissesNoEdit edits a source between builds, or while its object, or
// the library, is being made: the next build takes it up, and then is done.
func TestBuildMissesNoEdit(t *testing.T) {
	const (
		driverObject = "driver.cpp.o"
		kernelObject = "cuda_kernels_kernel.cu.o"
	)
	for name, test := range map[string]struct{ edit, under string }{
		"nothing is edited":                        {"", ""},
		"a source between builds":                  {driverSource, ""},
		"a header between builds":                  {headerSource, ""},
		"the map between builds":                   {mapSource, ""},
		"a source while it is compiled":            {driverSource, driverObject},
		"a kernel while it is compiled":            {kernelSource, kernelObject},
		"a header while what takes it is compiled": {headerSource, kernelObject},
		"a source while the library is linked":     {driverSource, libraryName},
		"a header while the library is linked":     {headerSource, libraryName},
		"the map while the library is linked":      {mapSource, libraryName},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBuildTree(t)
			if test.under != "" {
				b.build("EDIT="+b.path(test.edit), "EDIT_UNDER="+test.under)
				require.Equal(t, "edited while "+test.under+" was made\n", b.read(test.edit))
			} else {
				b.build()
				b.requireCurrent()
				if test.edit != "" {
					b.write(test.edit, "edited\n")
				}
			}
			b.build()
			b.requireCurrent()
			// Files of the same tick of the clock count as edited.
			for b.build() != "" {
				b.requireCurrent()
			}
		})
	}
}
