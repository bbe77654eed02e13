// Package image finds the compiled kernels: one fatbin with machine code for
// several architectures and PTX for later ones.
package image

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Variable names an image file to take before any other.
const Variable = "CUZK_KERNELS"

// FileName is what the image is called, beside the library and embedded.
const FileName = "cuzk.fatbin"

// ErrNone is returned by Find when there is no image anywhere.
var ErrNone = errors.New("no kernel image")

// Image is a compiled kernel image.
type Image struct {
	Data   []byte
	Origin string // where it was found, for people
}

// Find takes the image that CUZK_KERNELS names, else cuzk.fatbin beside the
// library (or program) that this code is linked into, else the one in
// embedded. A file that CUZK_KERNELS names must be there.
func Find(embedded fs.FS) (*Image, error) {
	if path := os.Getenv(Variable); path != "" {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("cuda: %s: %w", Variable, err)
		}
		return checked(data, Variable+"="+path)
	}
	var beside string
	if library, err := libraryPath(); err == nil {
		beside = filepath.Join(filepath.Dir(library), FileName)
		data, err := os.ReadFile(beside)
		if err == nil {
			return checked(data, beside)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("cuda: kernel image: %w", err)
		}
	}
	data, err := fs.ReadFile(embedded, FileName)
	if err == nil {
		return checked(data, "embedded")
	}
	return nil, fmt.Errorf("cuda: %w: %s is not set, %s is not there, and this library was built without kernels",
		ErrNone, Variable, beside)
}

func checked(data []byte, origin string) (*Image, error) {
	if len(data) == 0 {
		return nil, fmt.Errorf("cuda: kernel image %s is empty", origin)
	}
	return &Image{Data: data, Origin: origin}, nil
}
