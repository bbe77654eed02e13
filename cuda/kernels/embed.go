// Package kernels carries the compiled GPU kernels. It is for the build, which
// puts them here; programs need nothing of it.
package kernels

import (
	"embed"
	"io/fs"
)

//go:embed images
var images embed.FS

// Names are the images that a complete build has, one for each .cu file.
var Names = []string{"bands", "convert", "fixedbase", "fr", "g1", "g1_accumulate", "g1_affine", "g2", "ntt", "sort", "sums"}

// Extension is what image files end in.
const Extension = ".fatbin"

// Embedded is the folder of images that this build carries: Names with
// Extension, or only a README when the kernels were not built.
func Embedded() fs.FS {
	sub, err := fs.Sub(images, "images")
	if err != nil {
		panic("BUG: kernels: embedded folder: " + err.Error())
	}
	return sub
}
