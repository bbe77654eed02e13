// Package golden finds the golden cases: parameter files, assignments and the
// proofs that bellperson made from them. See README.md for what each is for.
package golden

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// DirEnv names the directory that holds the large case. A test that does not
// find it there fails instead of being skipped.
const DirEnv = "CUZK_GOLDEN_DIR"

// Case is a parameter file and the assignments proved with it.
type Case struct {
	Name                 string
	Params               string   // path
	Witnesses            []string // paths of .gv files, one circuit and different witnesses
	Rows, Domain         int
	Inputs, Aux          int
	AAux, BInputs, BAux  int // density popcounts
	WitnessCount         int
	inLargeDirectoryOnly bool
}

var table = []Case{
	{Name: "one", Rows: 3, Domain: 4, Inputs: 2, Aux: 1, AAux: 1, BInputs: 0, BAux: 1, WitnessCount: 1},
	{Name: "oneinp", Rows: 3, Domain: 4, Inputs: 2, Aux: 0, AAux: 0, BInputs: 1, BAux: 0, WitnessCount: 1},
	{Name: "two", Rows: 20, Domain: 32, Inputs: 4, Aux: 26, AAux: 11, BInputs: 2, BAux: 10, WitnessCount: 3},
	{Name: "zero", Rows: 302, Domain: 512, Inputs: 2, Aux: 600, AAux: 300, BInputs: 0, BAux: 300, WitnessCount: 1},
	{Name: "rs0", Rows: 384, Domain: 512, Inputs: 2, Aux: 762, AAux: 381, BInputs: 1, BAux: 381, WitnessCount: 1},
	{Name: "mimc", Rows: 646, Domain: 1024, Inputs: 2, Aux: 645, AAux: 644, BInputs: 1, BAux: 322, WitnessCount: 3},
	{Name: "pow2", Rows: 1024, Domain: 1024, Inputs: 2, Aux: 1022, AAux: 1022, BInputs: 1, BAux: 1022, WitnessCount: 1},
	{Name: "dup", Rows: 11, Domain: 16, Inputs: 6, Aux: 6000, AAux: 3000, BInputs: 0, BAux: 3000, WitnessCount: 1},
	{Name: "sha512", Rows: 45391, Domain: 65536, Inputs: 3, Aux: 45340, AAux: 45340, BInputs: 1, BAux: 11500,
		WitnessCount: 2, inLargeDirectoryOnly: true},
}

// Dir is the directory of the small cases.
func Dir() (string, error) {
	if _, file, _, ok := runtime.Caller(0); ok && filepath.IsAbs(file) {
		if _, err := os.Stat(file); err == nil {
			return filepath.Dir(file), nil
		}
	}
	// Built with -trimpath, or on another machine: a test runs in its package's
	// directory, so the repository root is above it.
	at, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("golden: %w", err)
	}
	for from := at; ; at = filepath.Dir(at) {
		if _, err := os.Stat(filepath.Join(at, "go.mod")); err == nil {
			return filepath.Join(at, "tests", "golden"), nil
		}
		if at == filepath.Dir(at) {
			return "", fmt.Errorf("golden: no go.mod above %s", from)
		}
	}
}

// Small lists the cases kept in the repository.
func Small() ([]Case, error) {
	dir, err := Dir()
	if err != nil {
		return nil, err
	}
	var out []Case
	for _, c := range table {
		if !c.inLargeDirectoryOnly {
			out = append(out, c.in(dir))
		}
	}
	return out, nil
}

// Named is one of the cases kept in the repository.
func Named(name string) (Case, error) {
	cases, err := Small()
	if err != nil {
		return Case{}, err
	}
	for _, c := range cases {
		if c.Name == name {
			return c, nil
		}
	}
	return Case{}, fmt.Errorf("golden: no case %q in the repository", name)
}

// ErrAbsent is returned by Large where the large case is not kept.
var ErrAbsent = errors.New("the large golden case is not here")

// Large is sha512, 30 MB and kept outside the repository: in $CUZK_GOLDEN_DIR
// if that is set, else in ../shared/golden next to the repository's root.
// Fails with ErrAbsent if it is in neither.
func Large() (Case, error) {
	dir := os.Getenv(DirEnv)
	if dir == "" {
		small, err := Dir()
		if err != nil {
			return Case{}, err
		}
		dir = filepath.Join(small, "..", "..", "..", "shared", "golden")
	}
	c := table[len(table)-1].in(dir)
	for _, path := range append([]string{c.Params}, c.Witnesses...) {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return Case{}, fmt.Errorf("golden: %s: %w; set %s to the directory that holds it", path, ErrAbsent, DirEnv)
		} else if err != nil {
			return Case{}, fmt.Errorf("golden: %w", err)
		}
	}
	return c, nil
}

// Each runs a subtest for every case, the large one included. The large one is
// skipped, with the reason, where it is absent and CUZK_GOLDEN_DIR is not set.
func Each(t *testing.T, test func(t *testing.T, c Case)) {
	t.Helper()
	cases, err := Small()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) { test(t, c) })
	}
	t.Run("sha512", func(t *testing.T) {
		c, err := Large()
		if errors.Is(err, ErrAbsent) && os.Getenv(DirEnv) == "" {
			t.Skip(err)
		}
		if err != nil {
			t.Fatal(err)
		}
		test(t, c)
	})
}

// in fills in the paths of a case that lies in dir.
func (c Case) in(dir string) Case {
	c.Params = filepath.Join(dir, c.Name+".params")
	c.Witnesses = []string{filepath.Join(dir, c.Name+".gv")}
	for i := 1; i < c.WitnessCount; i++ {
		c.Witnesses = append(c.Witnesses, filepath.Join(dir, fmt.Sprintf("%s.%d.gv", c.Name, i)))
	}
	return c
}
