package main

/*
#include "calls.h"
*/
import "C"

import "unsafe"

//export cuzkgoHostAlloc
func cuzkgoHostAlloc(packed C.uintptr_t) C.cuzk_status {
	return call("cuzk_host_alloc", func() error {
		args := arguments[C.struct_cuzkc_host_alloc_args](packed)
		if err := checkPointer("out", args.out); err != nil {
			return err
		}
		size := args.size
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
		// It is not Go memory, and stays until cuzk_host_free.
		write(args.out, uint64(uintptr(unsafe.Pointer(unsafe.SliceData(memory)))))
		return nil
	})
}

//export cuzkgoHostFree
func cuzkgoHostFree(packed C.uintptr_t) C.cuzk_status {
	return call("cuzk_host_free", func() error {
		memory := arguments[C.struct_cuzkc_host_free_args](packed).memory
		if memory == 0 {
			return nil
		}
		e := madeEngine()
		if e == nil {
			return refuse(errValue, "memory is %#x, and cuzk_host_alloc has given none", uint64(memory))
		}
		return e.FreeHostAt(uintptr(memory))
	})
}
