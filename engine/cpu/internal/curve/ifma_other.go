//go:build !amd64

package curve

// HasIFMA reports whether there are kernels for AVX-512 IFMA.
const HasIFMA = false
