// Package image finds the compiled kernels, fatbins with machine code for
// several architectures and PTX for later ones, and opens them in a context. It is for the build and for
// package cuda; programs need nothing of it.
package image

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/libcuzk/libcuzk/cuda/kernels"
	"github.com/libcuzk/libcuzk/internal/environ"
	"github.com/libcuzk/libcuzk/internal/plainfile"
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
	Images map[string][]byte // by name
	Origin string            // where they were found, for people
}

// Find takes the folder that CUZK_KERNELS names, else cuzk-kernels beside the
// library (or program) that this code is linked into, else the embedded one.
// The first folder that has any image must have all.
func Find() (*Set, error) { return find(kernels.Embedded(), kernels.Names) }

func find(embedded fs.FS, names []string) (*Set, error) {
	if folder := environ.Path(Variable); folder != "" {
		origin := Variable + "=" + folder
		set, err := read(inFolder(folder), names, origin)
		if err == nil && set == nil {
			err = fmt.Errorf("cuda: %w in %s", ErrNone, origin)
		}
		return set, err
	}
	beside := FolderBeside
	if library, err := libraryPath(); err == nil {
		beside = filepath.Join(filepath.Dir(library), FolderBeside)
		if set, err := read(inFolder(beside), names, beside); set != nil || err != nil {
			return set, err
		}
	}
	set, err := read(func(name string) ([]byte, error) { return fs.ReadFile(embedded, name) }, names, "embedded")
	if err == nil && set == nil {
		err = fmt.Errorf("cuda: %w: %s is not set, %s is not there, and this library was built without kernels",
			ErrNone, Variable, beside)
	}
	return set, err
}

// maxImage bounds what is read of one image.
const maxImage = 1 << 30

// inFolder reads the files of a folder by their names.
func inFolder(folder string) func(name string) ([]byte, error) {
	return func(name string) ([]byte, error) { return plainfile.ReadAll(filepath.Join(folder, name), maxImage) }
}

// read is nil when there is none of the images.
func read(file func(name string) ([]byte, error), names []string, origin string) (*Set, error) {
	set := &Set{Images: map[string][]byte{}, Origin: origin}
	var missing []string
	for _, name := range names {
		data, err := file(name + kernels.Extension)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			missing = append(missing, name+kernels.Extension)
		case err != nil:
			return nil, unreadable(fmt.Errorf("cuda: kernel images %s: %w", origin, err))
		case len(data) == 0:
			return nil, unreadable(fmt.Errorf("cuda: kernel images %s: %s is empty", origin, name+kernels.Extension))
		default:
			set.Images[name] = data
		}
	}
	switch len(missing) {
	case 0:
		return set, nil
	case len(names):
		return nil, nil
	}
	return nil, unreadable(fmt.Errorf("cuda: kernel images %s: %d of %d are missing: %v", origin, len(missing), len(names), missing))
}

// unreadable says that without images there is no device, unless it is for want
// of something that the process has too little of.
func unreadable(err error) error {
	if errors.Is(err, sentinel.ErrHostMemory) {
		return err
	}
	return sentinel.Wrap(sentinel.ErrNoDevice, err)
}
