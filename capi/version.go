package main

import "C"

// version is the library's; build.sh reads it from this line.
const version = "0.1.0"

// cuzkgoVersion returns memory that the C side keeps for good; it calls this
// once.
//
//export cuzkgoVersion
func cuzkgoVersion() *C.char {
	return C.CString("libcuzk " + version + " (" + builtIn() + ")")
}
