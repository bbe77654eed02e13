//go:build !linux

package image

import "os"

func libraryPath() (string, error) { return os.Executable() }
