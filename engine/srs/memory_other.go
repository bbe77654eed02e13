//go:build !linux

package srs

// allocate falls back to the Go heap, where a large block is page aligned
// and a small one aligned to its size class, both multiples of 8.
func allocate(bytes int) ([]byte, error) { return make([]byte, bytes), nil }

func free([]byte) error { return nil }
