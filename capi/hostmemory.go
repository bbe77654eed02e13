package main

/*
#include "cuzk.h"
*/
import "C"

import (
	"unsafe"

	"github.com/libcuzk/libcuzk/engine"
)

//export cuzkgoHostAlloc
func cuzkgoHostAlloc(size C.size_t, out *unsafe.Pointer) C.cuzk_status {
	return call("cuzk_host_alloc", func() error {
		if err := checkPointer("out", out); err != nil {
			return err
		}
		if size == 0 || uint64(size) > maxBytes {
			return refuse(errSize, "size is %d bytes, expected 1 to %d", size, uint64(maxBytes))
		}
		e, err := theEngine()
		if err != nil {
			return err
		}
		memory, err := e.AllocHost(int(size))
		if err != nil {
			return err
		}
		// SAFETY: it is not Go memory, and stays until cuzk_host_free.
		*out = unsafe.Pointer(unsafe.SliceData(memory))
		return nil
	})
}

//export cuzkgoHostFree
func cuzkgoHostFree(address C.uintptr_t) C.cuzk_status {
	return call("cuzk_host_free", func() error {
		if address == 0 {
			return nil
		}
		e := madeEngine()
		if e == nil {
			return refuse(errValue, "memory is %#x, and cuzk_host_alloc has given none", uint64(address))
		}
		return e.FreeHostAt(uintptr(address))
	})
}

// madeEngine is the engine if there is one.
func madeEngine() *engine.Engine {
	engineMu.Lock()
	defer engineMu.Unlock()
	return shared
}
