// Package imports holds the line between the parts of the library: which
// package may use which. Files for every system count; those of tests count
// for import "C" alone.
package imports

import (
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const module = "github.com/libcuzk/libcuzk/"

// graph has the imports of each package, by its folder. Packages of the module
// are named by their folder, others by their path.
type graph map[string][]string

// rule forbids packages to reach others, through whatever is between.
// A pattern is a folder, or a folder and all below it if it ends in "/...".
type rule struct {
	from, but []string // packages that the rule is for, and which of them it is not for
	not       []string // what they do not reach
	why       string
}

var rules = []rule{
	{
		from: []string{"engine/..."}, but: []string{"engine/cpu/..."},
		not: []string{"cuda/...", "engine/cpu/...", "internal/launch", "internal/settings", "capi"},
		why: "the engine knows no back end: its user says which there are",
	}, {
		from: []string{"cuda/...", "engine/cpu/..."},
		not:  []string{"engine", "internal/settings", "capi"},
		why:  "a back end knows the seam, not who calls it",
	}, {
		from: []string{"cuda/driver", "internal/..."}, but: []string{"internal/settings/...", "internal/backendtest", "internal/circuits/...", "internal/cudatest"},
		not: []string{"engine", "engine/backend", "engine/cpu/...", "cuda", "cuda/image", "capi"},
		why: "what is below the seam knows nothing of it",
	}, {
		from: []string{"engine/backend"},
		not:  []string{"internal/sched", "internal/vram"},
		why:  "the seam says nothing of how a back end works",
	}, {
		from: []string{"capi", "cuda/...", "engine/...", "internal/..."}, but: []string{"internal/backendtest", "internal/circuits/...", "internal/cudatest"},
		not: []string{"internal/backendtest", "internal/circuits/...", "internal/cudatest", "tests/..."},
		why: "these are for tests and benchmarks",
	},
}

// capiImports are the packages that package capi imports, and no others: an
// export checks, converts, calls the engine and maps the error.
var capiImports = []string{
	"engine", "engine/groth16", "engine/metrics", "engine/srs", "engine/timeline", "internal/plainfile", "internal/poller", "internal/settings",
}

func TestImportsRunDown(t *testing.T) {
	g := read(t, os.DirFS("../.."), false)
	assert.Greater(t, len(g), 30, "packages")
	for _, v := range violations(g, rules) {
		t.Error(v)
	}
	for _, name := range strays(g, "capi", capiImports) {
		t.Errorf("capi imports %s: what it needs, the engine has", name)
	}
	for _, r := range rules {
		for _, pattern := range slices.Concat(r.from, r.but, r.not) {
			known := slices.ContainsFunc(slices.Collect(maps.Keys(g)), func(name string) bool { return matches(pattern, name) })
			assert.True(t, known, "no package is %s", pattern)
		}
	}
}

// cgo costs every Go program that imports the package a C compiler.
func TestOnlyCapiNeedsCgo(t *testing.T) {
	assert.Equal(t, []string{"capi"}, importersOf(read(t, os.DirFS("../.."), true), "C"))
}

// forUsers are the packages that programs import. ofDriver are the parts of the
// CUDA back end that packages outside it use too: driver bindings, kernels and
// loader. All others are internal.
var (
	forUsers = []string{"cuda", "engine", "engine/backend", "engine/cpu", "engine/groth16", "engine/metrics", "engine/srs", "engine/timeline"}
	ofDriver = []string{"cuda/driver", "cuda/image", "cuda/kernels"}
)

func TestPackagesForUsersAreFewAndHaveExamples(t *testing.T) {
	root := os.DirFS("../..")
	var open []string
	for name := range read(t, root, false) {
		if matchesAny([]string{"cuda/...", "engine/..."}, name) && !slices.Contains(strings.Split(name, "/"), "internal") {
			open = append(open, name)
		}
	}
	assert.ElementsMatch(t, slices.Concat(forUsers, ofDriver), open)
	for _, name := range forUsers {
		example, err := fs.ReadFile(root, name+"/example_test.go")
		require.NoError(t, err)
		assert.Regexp(t, `(?m)^func Example\(\) {$`, string(example), name)
		assert.Regexp(t, `(?m)^	// (Output|Unordered output):\n	// .`, string(example), name)
	}
}

// violations tells each package that reaches what it must not, and how.
func violations(g graph, rules []rule) []string {
	var all []string
	for _, r := range rules {
		for _, from := range slices.Sorted(maps.Keys(g)) {
			if !matchesAny(r.from, from) || matchesAny(r.but, from) {
				continue
			}
			if way := g.wayTo(from, r.not); way != nil {
				all = append(all, strings.Join(way, " -> ")+": "+r.why)
			}
		}
	}
	return all
}

// wayTo is the shortest chain of imports from a package to one of the patterns;
// nil if there is none.
func (g graph) wayTo(from string, patterns []string) []string {
	seen := map[string]bool{from: true}
	for ways := [][]string{{from}}; len(ways) > 0; ways = ways[1:] {
		way := ways[0]
		for _, next := range g[way[len(way)-1]] {
			if seen[next] {
				continue
			}
			seen[next] = true
			longer := append(slices.Clone(way), next)
			if matchesAny(patterns, next) {
				return longer
			}
			ways = append(ways, longer)
		}
	}
	return nil
}

// strays are the packages of the module that a package imports and may not.
func strays(g graph, from string, may []string) []string {
	var list []string
	for _, name := range g[from] {
		if _, ours := g[name]; ours && !slices.Contains(may, name) {
			list = append(list, name)
		}
	}
	return list
}

func importersOf(g graph, name string) []string {
	var list []string
	for from, imports := range g {
		if slices.Contains(imports, name) {
			list = append(list, from)
		}
	}
	slices.Sort(list)
	return list
}

func matchesAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return matches(p, name) })
}

func matches(pattern, name string) bool {
	folder, below := strings.CutSuffix(pattern, "/...")
	return name == folder || below && strings.HasPrefix(name, folder+"/")
}

// read finds the packages of a tree, with what their tests import or without.
func read(t *testing.T, root fs.FS, tests bool) graph {
	t.Helper()
	g := graph{}
	err := fs.WalkDir(root, ".", func(p string, d fs.DirEntry, err error) error {
		name := d.Name()
		switch {
		case err != nil:
			return err
		case d.IsDir() && (p != "." && strings.HasPrefix(name, ".") || slices.Contains([]string{"build", "target", "testdata"}, name)):
			return fs.SkipDir
		case d.IsDir() || filepath.Ext(p) != ".go" || !tests && strings.HasSuffix(p, "_test.go"):
			return nil
		}
		data, err := fs.ReadFile(root, p)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), p, data, parser.ImportsOnly)
		if err != nil {
			return err
		}
		folder := path.Dir(p)
		g[folder] = slices.Clip(g[folder]) // there is a package, whatever it imports
		for _, spec := range file.Imports {
			name, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			name = strings.TrimPrefix(name, module)
			if !slices.Contains(g[folder], name) {
				g[folder] = append(g[folder], name)
			}
		}
		return nil
	})
	require.NoError(t, err)
	for _, imports := range g {
		slices.Sort(imports)
	}
	return g
}
