package main

/*
#include "calls.h"
*/
import "C"

// version is the library's; build.sh reads it from this line.
const version = "0.1.0"

// cuzkgoVersion stores the address of memory that the C side keeps for good; it
// calls this once.
//
//export cuzkgoVersion
func cuzkgoVersion(packed C.uintptr_t) C.cuzk_status {
	return call("cuzk_version", func() error {
		storeText(packed, "libcuzk "+version+" ("+builtIn()+")")
		return nil
	})
}
