package driver

import (
	"fmt"
	"runtime"

	"github.com/ebitengine/purego"

	"github.com/libcuzk/libcuzk/internal/environ"
)

// libraryVariable names the driver library to load instead of the system's;
// tests point it at a simulator.
const libraryVariable = "CUZK_CUDA_LIB"

// libraryName is what every installation of the driver offers to the loader.
const libraryName = "libcuda.so.1"

// openLibrary loads the driver's library and returns its handle and path.
func openLibrary() (handle uintptr, path string, err error) {
	path = environ.Path(libraryVariable)
	if path == "" {
		path = libraryName
	}
	// dlerror is kept per thread: call both on the same one.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	handle, err = purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return 0, path, fmt.Errorf("cuda: no driver library: %w", err)
	}
	return handle, path, nil
}

// symbol looks a function up; the error is the loader's.
func symbol(handle uintptr, name string) (uintptr, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return purego.Dlsym(handle, name)
}

// invoke calls a C function with arguments that are integers or C pointers. It
// costs a tenth of a call through a registered func.
func invoke(address uintptr, arguments ...uintptr) Result {
	r, _, _ := purego.SyscallN(address, arguments...)
	return Result(r)
}

// register makes *field, a func, call the C function at address.
func register(field any, address uintptr) { purego.RegisterFunc(field, address) }
