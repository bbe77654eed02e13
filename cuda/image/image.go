// Package image finds the compiled kernels: fatbins with machine code for
// several architectures and PTX for later ones. It is for the build and for
// package cuda; programs need nothing of it.
package image

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/libcuzk/libcuzk/cuda/kernels"
	"github.com/libcuzk/libcuzk/internal/sentinel"
)

// Variable names a folder of images to take before any other.
const Variable = "CUZK_KERNELS"

// FolderBeside is the folder beside the library that images are looked for in.
const FolderBeside = "cuzk-kernels"

// ErrNone is returned by Find when there are no images anywhere.
var ErrNone = sentinel.New(sentinel.ErrNoDevice, "no kernel images")

// Set is a complete set of images.
type Set struct {
	Images [][]byte
	Origin string // where they were found, for people
}

// Find takes the folder that CUZK_KERNELS names, else cuzk-kernels beside the
// library (or program) that this code is linked into, else the embedded one.
// The first folder that has any image must have all.
func Find() (*Set, error) { return find(kernels.Embedded(), kernels.Names) }

func find(embedded fs.FS, names []string) (*Set, error) {
	if folder := os.Getenv(Variable); folder != "" {
		origin := Variable + "=" + folder
		set, err := read(os.DirFS(folder), names, origin)
		if err == nil && set == nil {
			err = fmt.Errorf("cuda: %w in %s", ErrNone, origin)
		}
		return set, err
	}
	beside := FolderBeside
	if library, err := libraryPath(); err == nil {
		beside = filepath.Join(filepath.Dir(library), FolderBeside)
		if set, err := read(os.DirFS(beside), names, beside); set != nil || err != nil {
			return set, err
		}
	}
	set, err := read(embedded, names, "embedded")
	if err == nil && set == nil {
		err = fmt.Errorf("cuda: %w: %s is not set, %s is not there, and this library was built without kernels",
			ErrNone, Variable, beside)
	}
	return set, err
}

// read is nil when folder has none of the images.
func read(folder fs.FS, names []string, origin string) (*Set, error) {
	set := &Set{Origin: origin}
	var missing []string
	for _, name := range names {
		data, err := fs.ReadFile(folder, name+kernels.Extension)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			missing = append(missing, name+kernels.Extension)
		case err != nil:
			return nil, fmt.Errorf("cuda: kernel images %s: %w", origin, err)
		case len(data) == 0:
			return nil, fmt.Errorf("cuda: kernel images %s: %s is empty", origin, name+kernels.Extension)
		default:
			set.Images = append(set.Images, data)
		}
	}
	switch len(missing) {
	case 0:
		return set, nil
	case len(names):
		return nil, nil
	}
	return nil, fmt.Errorf("cuda: kernel images %s: %d of %d are missing: %v", origin, len(missing), len(names), missing)
}
