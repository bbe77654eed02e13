// Package abi_test holds the headers, the version script and the built
// libraries against each other.
package abi_test

import (
	"os"
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

var headers = []string{"cuzk.h", "supraseal_c2.h"}

func read(t *testing.T, path ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(append([]string{cbuild.Root()}, path...)...))
	require.NoError(t, err)
	return string(text)
}

var (
	comment  = regexp.MustCompile(`(?s)/\*.*?\*/`)
	function = regexp.MustCompile(`(?m)^[a-z_0-9 *]*?\b\*?(\w+)\([^;{]*\);`)
	define   = regexp.MustCompile(`(?m)^#define (CUZK_(?:OK|ERR_\w+)) (\d+)`)
)

// declared lists the functions of a header.
func declared(t *testing.T, header string) []string {
	text := comment.ReplaceAllString(read(t, "include", header), "")
	var names []string
	for _, m := range function.FindAllStringSubmatch(text, -1) {
		if !strings.HasPrefix(m[0], "typedef") {
			names = append(names, m[1])
		}
	}
	slices.Sort(names)
	return names
}

func allDeclared(t *testing.T) []string {
	var names []string
	for _, h := range headers {
		names = append(names, declared(t, h)...)
	}
	slices.Sort(names)
	return names
}

func TestHeadersDeclareWhatWeThink(t *testing.T) {
	// A guard for the parser above.
	assert.Len(t, declared(t, "cuzk.h"), 28)
	assert.Len(t, declared(t, "supraseal_c2.h"), 11)
}

func TestHeaderCompiles(t *testing.T) {
	strict := []string{"-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror", "-I" + filepath.Join(cbuild.Root(), "include"), "-c"}
	for name, c := range map[string]struct {
		compiler string
		flags    []string
	}{
		"as C11":                       {"gcc", []string{"-std=c11"}},
		"as C99, but for the asserts":  {"gcc", []string{"-std=c99", "-Wno-pedantic"}},
		"as C17":                       {"gcc", []string{"-std=c17"}},
		"as C++17":                     {"g++", []string{"-std=c++17", "-x", "c++"}},
		"as C++20 without exceptions":  {"g++", []string{"-std=c++20", "-fno-exceptions", "-x", "c++"}},
		"with strict prototypes, in C": {"gcc", []string{"-std=c11", "-Wstrict-prototypes", "-Wmissing-prototypes", "-Wno-missing-declarations"}},
	} {
		t.Run(name, func(t *testing.T) {
			args := slices.Concat(c.flags, strict, []string{"layout/layout.c", "-o", filepath.Join(t.TempDir(), "layout.o")})
			cbuild.Run(t, exec.Command(c.compiler, args...))
		})
	}
	for _, header := range headers {
		t.Run(header+" stands on its own", func(t *testing.T) {
			source := filepath.Join(t.TempDir(), "alone.c")
			require.NoError(t, os.WriteFile(source, []byte("#include \""+header+"\"\n#include \""+header+"\"\nint cuzk_alone;\n"), 0o600))
			for _, compiler := range [][]string{{"gcc", "-std=c11"}, {"g++", "-std=c++17", "-x", "c++"}} {
				args := slices.Concat(compiler[1:], strict, []string{source, "-o", filepath.Join(t.TempDir(), "alone.o")})
				cbuild.Run(t, exec.Command(compiler[0], args...))
			}
		})
	}
}

func TestVersionScriptNamesWhatTheHeadersDeclare(t *testing.T) {
	assert.Equal(t, allDeclared(t), exportedByScript(t))
}

func exportedByScript(t *testing.T) []string {
	script := comment.ReplaceAllString(read(t, "include", "cuzk.map"), "")
	var names []string
	for _, m := range regexp.MustCompile(`(?m)^\s*(\w+);$`).FindAllStringSubmatch(script, -1) {
		names = append(names, m[1])
	}
	slices.Sort(names)
	return names
}

func TestStatusNames(t *testing.T) {
	source := read(t, "capi", "exports.c")
	defines := define.FindAllStringSubmatch(read(t, "include", "cuzk.h"), -1)
	require.NotEmpty(t, defines)
	seen := map[string]string{}
	for _, d := range defines {
		assert.Contains(t, source, "NAME("+d[1]+");", "cuzk_status_name does not know %s", d[1])
		assert.Empty(t, seen[d[2]], "%s and %s have the same value", d[1], seen[d[2]])
		seen[d[2]] = d[1]
	}
	assert.Equal(t, len(defines), strings.Count(source, "        NAME(CUZK_"))
}

func TestEveryFunctionIsDocumented(t *testing.T) {
	// cuzk.h says for each function which errors it returns, unless it
	// returns none.
	text := read(t, "include", "cuzk.h")
	for _, m := range regexp.MustCompile(`(?s)(/\*[^/]*?\*/)\ncuzk_status (\w+)\(`).FindAllStringSubmatch(text, -1) {
		assert.Contains(t, m[1], "Errors:", m[2])
	}
	for _, name := range declared(t, "cuzk.h") {
		assert.Regexp(t, `\*/\n[a-z][a-z_0-9 *]*\b`+name+`\(`, text, "no comment above %s", name)
	}
}
