// Package main is the C ABI of libcuzk: include/cuzk.h and
// include/supraseal_c2.h over package engine.
//
// Every call checks its pointers, converts, calls the engine and turns the error
// into a status. The symbols of the headers are defined in exports.c and
// exports_supraseal.c, where the C compiler compares them with the headers; they
// call the cuzkgo functions of the Go files, which the linker hides, on the
// threads of entry.c. What the host gives is in calls.h, with integers for
// pointers.
//
// What only a C interface needs is here too: the one engine of the process, made
// of the environment's settings (engine.go, environ.go), handles and their
// references (handle.go), structs that may grow (struct.go), the last error of
// each thread (last_error.c), the queue before the log callback (logqueue.go),
// and the sets that supraseal keeps open (supraseal_cache.go).
//
// Build with build.sh in this folder; `go build` alone gives a library without
// soname that exports too much.
package main

// Needed by -buildmode=c-shared and c-archive, never called.
func main() {}
