package main

/*
#include "calls.h"
*/
import "C"

import (
	"unsafe"

	"github.com/libcuzk/libcuzk/engine"
)

type deviceInfoC = C.cuzk_device_info

// deviceInfoBytesABI1 is sizeof(cuzk_device_info) in ABI 1.0.
const deviceInfoBytesABI1 = 680

//export cuzkgoDeviceCount
func cuzkgoDeviceCount(packed C.uintptr_t) C.cuzk_status {
	return call("cuzk_device_count", func() error {
		args := arguments[C.struct_cuzkc_out_args](packed)
		if err := checkAligned("out", args.out, 4); err != nil {
			return err
		}
		e, err := theEngine()
		if err != nil {
			return err
		}
		write(args.out, uint32(len(e.Devices())))
		return nil
	})
}

//export cuzkgoDeviceGetInfo
func cuzkgoDeviceGetInfo(packed C.uintptr_t) C.cuzk_status {
	return call("cuzk_device_get_info", func() error {
		args := arguments[C.struct_cuzkc_device_get_info_args](packed)
		size, err := structSize[deviceInfoC]("out", args.out, deviceInfoBytesABI1)
		if err != nil {
			return err
		}
		e, err := theEngine()
		if err != nil {
			return err
		}
		devices := e.Devices()
		if uint64(args.index) >= uint64(len(devices)) {
			return refuse(errValue, "index is %d, expected 0 to %d", args.index, len(devices)-1)
		}
		writeStruct(args.out, size, deviceInfo(devices[args.index]))
		return nil
	})
}

func deviceInfo(d engine.DeviceInfo) deviceInfoC {
	c := deviceInfoC{
		memory_bytes: C.uint64_t(d.Memory),
		workers:      C.uint32_t(d.Workers),
	}
	putText(c.backend[:], d.Backend)
	putText(c.name[:], d.Name)
	putText(c.detail[:], d.Detail)
	putText(c.unusable[:], d.Unusable)
	return c
}

// putText copies text with its NUL and cuts off what does not fit.
func putText(to []C.char, text string) {
	for i := range min(len(text), len(to)-1) {
		to[i] = C.char(text[i])
	}
}

//export cuzkgoSetWorkers
func cuzkgoSetWorkers(packed C.uintptr_t) C.cuzk_status {
	return call("cuzk_set_workers", func() error {
		workers := arguments[C.struct_cuzkc_set_workers_args](packed).workers
		if workers > engine.MaxWorkers {
			return refuse(errValue, "workers is %d, expected 0 (default) to %d", workers, engine.MaxWorkers)
		}
		e, err := theEngine()
		if err != nil {
			return err
		}
		return e.SetWorkers(int(workers))
	})
}

// cuzkgoGPUReason stores the address of memory that the C side keeps for good; it
// calls this once.
//
//export cuzkgoGPUReason
func cuzkgoGPUReason(packed C.uintptr_t) C.cuzk_status {
	return call("cuzk_gpu_reason", func() error {
		reason := ""
		if e, err := theEngine(); err != nil {
			reason = err.Error()
		} else {
			reason = e.GPUReason()
		}
		storeText(packed, reason)
		return nil
	})
}

// storeText stores the address of a copy of text, which nobody frees.
func storeText(packed C.uintptr_t, text string) {
	write(arguments[C.struct_cuzkc_out_args](packed).out, uint64(uintptr(unsafe.Pointer(C.CString(text)))))
}
