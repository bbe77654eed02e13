package imports

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/tests/c/cbuild"
)

// Whoever has the library built must know when to do so again: cargo by a list
// in build.rs, the go command by what the tests in C look at.
func TestEverySourceOfTheLibraryIsWatched(t *testing.T) {
	sources := librarySources(t)
	assert.ElementsMatch(t, sources, cargoSources(t), "SOURCES of cuzk-sys/build.rs")
	assert.ElementsMatch(t, append(sources, "bindings/c"), cbuild.Sources, "Sources of cbuild")
}

// librarySources are the folders of all packages that package capi reaches, and
// what else go build reads.
func librarySources(t *testing.T) []string {
	list := []string{"capi", "go.mod", "go.sum", "include"}
	g := read(t, os.DirFS("../.."), false)
	for name := range g {
		if g.wayTo("capi", []string{name}) != nil {
			folder, _, _ := strings.Cut(name, "/")
			list = append(list, folder)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func cargoSources(t *testing.T) []string {
	script, err := os.ReadFile("../../bindings/rust/cuzk-sys/build.rs")
	require.NoError(t, err)
	list := regexp.MustCompile(`(?s)const SOURCES: [^=]*= \[(.*?)\];`).FindSubmatch(script)
	require.NotNil(t, list, "build.rs has no SOURCES")
	var names []string
	for _, m := range regexp.MustCompile(`"([^"]+)"`).FindAllSubmatch(list[1], -1) {
		names = append(names, string(m[1]))
	}
	return names
}
