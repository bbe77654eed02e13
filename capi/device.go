package main

/*
#include "cuzk.h"
*/
import "C"

import (
	"github.com/libcuzk/libcuzk/engine"
)

type deviceInfoC = C.cuzk_device_info

// firstDeviceInfo is sizeof(cuzk_device_info) in ABI 1.0.
const firstDeviceInfo = 680

//export cuzkgoDeviceCount
func cuzkgoDeviceCount(out *C.uint32_t) C.cuzk_status {
	return call("cuzk_device_count", func() error {
		if err := checkAligned("out", out); err != nil {
			return err
		}
		e, err := theEngine()
		if err != nil {
			return err
		}
		*out = C.uint32_t(len(e.Devices()))
		return nil
	})
}

//export cuzkgoDeviceGetInfo
func cuzkgoDeviceGetInfo(index C.uint32_t, out *C.cuzk_device_info) C.cuzk_status {
	return call("cuzk_device_get_info", func() error {
		size, err := structSize("out", out, firstDeviceInfo)
		if err != nil {
			return err
		}
		e, err := theEngine()
		if err != nil {
			return err
		}
		devices := e.Devices()
		if uint64(index) >= uint64(len(devices)) {
			return refuse(errValue, "index is %d, expected 0 to %d", index, len(devices)-1)
		}
		writeStruct(out, size, deviceInfo(devices[index]))
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
func cuzkgoSetWorkers(workers C.uint32_t) C.cuzk_status {
	return call("cuzk_set_workers", func() error {
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

// cuzkgoGPUReason returns memory that the C side keeps for good; it calls this
// once. NULL after a panic, with the text in cuzk_last_error.
//
//export cuzkgoGPUReason
func cuzkgoGPUReason() (text *C.char) {
	call("cuzk_gpu_reason", func() error {
		reason := ""
		if e, err := theEngine(); err != nil {
			reason = err.Error()
		} else {
			reason = e.GPUReason()
		}
		text = C.CString(reason)
		return nil
	})
	return text
}
