package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What the host gives reaches Go as integers: as a value of a pointer type the
// collector would look at it, and end the process at one that no allocation has.
// (The suite "integers" of tests/c gives such values to every call.)
func TestNoPointerOfTheHostEntersGo(t *testing.T) {
	t.Run("calls.h, which has all that crosses, has no pointer", func(t *testing.T) {
		text, err := os.ReadFile("calls.h")
		require.NoError(t, err)
		assert.NotContains(t, withoutComments(string(text)), "*")
		assert.Contains(t, withoutComments("int /* of\na */ *p;"), "*", "a pointer is seen")
	})
	exports := 0
	for _, file := range parsed(t) {
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && isExport(f) {
				exports++
				assert.Equal(t, "(C.uintptr_t) C.cuzk_status", signature(f), "%s takes the address of its arguments", f.Name)
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok && isC(s) {
				assert.NotContains(t, holdPointers, s.Sel.Name, "C.%s has pointers: calls.h has its twin", s.Sel.Name)
			}
			return true
		})
	}
	assert.Greater(t, exports, 30)
}

// holdPointers are the types of the headers with pointers in them.
var holdPointers = []string{
	"cuzk_assignment", "cuzk_density", "cuzk_log_fn", "supraseal_assignment", "supraseal_srs", "supraseal_error",
	"struct_cuzk_assignment", "struct_cuzk_density", "struct_supraseal_assignment", "struct_supraseal_srs",
}

func TestTypesWithPointersAreAllListed(t *testing.T) {
	found := 0
	for _, header := range []string{"../include/cuzk.h", "../include/supraseal_c2.h"} {
		text, err := os.ReadFile(header)
		require.NoError(t, err)
		plain := withoutComments(string(text))
		for _, m := range regexp.MustCompile(`(?s)typedef struct \w+ \{(.*?)\} (\w+);`).FindAllStringSubmatch(plain, -1) {
			if strings.Contains(m[1], "*") {
				found++
				assert.Contains(t, holdPointers, m[2])
			}
		}
	}
	assert.Equal(t, 5, found)
}

func withoutComments(c string) string {
	return regexp.MustCompile(`(?s)/\*.*?\*/`).ReplaceAllString(c, "")
}

func parsed(t *testing.T) []*ast.File {
	paths, err := filepath.Glob("*.go")
	require.NoError(t, err)
	var files []*ast.File
	for _, path := range paths {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		require.NoError(t, err)
		files = append(files, file)
	}
	return files
}

func isExport(f *ast.FuncDecl) bool {
	return f.Doc != nil && strings.Contains(f.Doc.List[len(f.Doc.List)-1].Text, "//export ")
}

func isC(e ast.Expr) bool {
	s, ok := e.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	x, ok := s.X.(*ast.Ident)
	return ok && x.Name == "C"
}

// signature has the types of C by their names, and "?" for any other.
func signature(f *ast.FuncDecl) string {
	name := func(e ast.Expr) string {
		if !isC(e) {
			return "?"
		}
		return "C." + e.(*ast.SelectorExpr).Sel.Name
	}
	var in, out []string
	for _, p := range f.Type.Params.List {
		for range max(1, len(p.Names)) {
			in = append(in, name(p.Type))
		}
	}
	if f.Type.Results != nil {
		for _, r := range f.Type.Results.List {
			out = append(out, name(r.Type))
		}
	}
	return "(" + strings.Join(in, ", ") + ") " + strings.Join(out, ", ")
}
