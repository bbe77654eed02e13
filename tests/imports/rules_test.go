package imports

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
)

// made is a graph that keeps all rules.
var made = graph{
	"capi":                    {"C", "engine", "fmt", "internal/settings"},
	"cmd/cuzk-bench":          {"cuda", "engine", "internal/circuits/synth"},
	"cuda":                    {"cuda/image", "engine/backend", "internal/launch", "internal/sched"},
	"cuda/image":              {},
	"engine":                  {"engine/backend", "engine/timeline", "internal/sched"},
	"engine/backend":          {"engine/timeline"},
	"engine/cpu":              {"engine/backend", "engine/cpu/internal/msm"},
	"engine/cpu/internal/msm": {"internal/hostmem"},
	"engine/timeline":         {},
	"internal/backendtest":    {"engine/backend", "tests/golden"},
	"internal/circuits/synth": {"engine/timeline"},
	"internal/cudatest":       {"cuda/image", "internal/launch"},
	"cuda/driver":             {},
	"internal/hostmem":        {},
	"internal/launch":         {"cuda/driver"},
	"internal/sched":          {"engine/timeline", "internal/vram"},
	"internal/settings":       {"cuda", "engine", "engine/cpu"},
	"internal/settings/table": {"internal/settings"},
	"internal/vram":           {},
	"tests/golden":            {},
}

func TestRulesFindImports(t *testing.T) {
	assert.Empty(t, violations(made, rules))
	for name, test := range map[string]struct{ from, to, way string }{
		"the engine opens a back end":            {"engine", "cuda", "engine -> cuda"},
		"through a package between":              {"engine/timeline", "internal/launch", "engine -> engine/timeline -> internal/launch"},
		"a part of the engine opens a back end":  {"engine/backend", "engine/cpu", "engine/backend -> engine/cpu"},
		"the engine takes a part of a back end":  {"engine/timeline", "engine/cpu/internal/msm", "engine/timeline -> engine/cpu/internal/msm"},
		"the engine reads settings":              {"engine/backend", "internal/settings", "engine/backend -> internal/settings"},
		"a back end calls the engine":            {"cuda", "engine", "cuda -> engine"},
		"a part of a back end calls the engine":  {"engine/cpu/internal/msm", "engine", "engine/cpu/internal/msm -> engine"},
		"a back end reads settings":              {"cuda/image", "internal/settings", "cuda -> cuda/image -> internal/settings"},
		"the ledger knows the seam":              {"internal/vram", "engine/backend", "internal/sched -> internal/vram -> engine/backend"},
		"the driver knows the exports":           {"cuda/driver", "capi", "cuda/driver -> capi"},
		"the seam knows the scheduler":           {"engine/backend", "internal/sched", "engine/backend -> internal/sched"},
		"the product makes circuits for tests":   {"engine", "internal/circuits/synth", "engine -> internal/circuits/synth"},
		"the product has a package of the tests": {"internal/hostmem", "tests/golden", "internal/hostmem -> tests/golden"},
		"an export launches on a device":         {"capi", "internal/cudatest", "capi -> internal/cudatest"},
	} {
		t.Run(name, func(t *testing.T) {
			g := maps.Clone(made)
			g[test.from] = append([]string{test.to}, g[test.from]...)
			found := violations(g, rules)
			says := func(v string) bool { return strings.HasPrefix(v, test.way+": ") }
			assert.True(t, slices.ContainsFunc(found, says), "%q is not among %q", test.way, found)
		})
	}
}

func TestStraysAreFound(t *testing.T) {
	assert.Empty(t, strays(made, "capi", capiImports))
	g := maps.Clone(made)
	g["capi"] = append([]string{"cuda/driver", "strings"}, g["capi"]...)
	assert.Equal(t, []string{"cuda/driver"}, strays(g, "capi", capiImports))
}

func TestEveryFileIsRead(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	tree := fstest.MapFS{
		"a/a.go":            file("package a\n"),
		"a/a_windows.go":    file("package a\n\nimport \"" + module + "b\"\n"),
		"a/a_test.go":       file("package a_test\n\nimport \"C\"\n"),
		"b/b.go":            file("//go:build ignore\n\npackage b\n\nimport (\n\tx \"fmt\"\n\t_ \"" + module + "c/d\"\n)\n"),
		"c/testdata/e.go":   file("package e\n\nimport \"C\"\n"),
		".tools/go/main.go": file("package main\n\nimport \"C\"\n"),
	}
	assert.Equal(t, graph{"a": {"b"}, "b": {"c/d", "fmt"}}, read(t, tree, false))
	assert.Equal(t, []string{"a"}, importersOf(read(t, tree, true), "C"))
}
