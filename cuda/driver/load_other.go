//go:build !linux

package driver

import (
	"errors"
	"fmt"
	"runtime"
)

var errPlatform = errors.New("cuda: the CUDA back end runs on Linux only")

func openLibrary() (uintptr, string, error) {
	return 0, "", fmt.Errorf("%w, this is %s", errPlatform, runtime.GOOS)
}

func symbol(uintptr, string) (uintptr, error) { return 0, errPlatform }

func invoke(uintptr, ...uintptr) Result { return ErrorNoDevice }

func register(any, uintptr) {}
