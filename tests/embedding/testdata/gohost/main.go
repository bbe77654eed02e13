// Command gohost is a Go program that uses libcuzk through its C ABI, so that
// the process has two Go runtimes. Threads of the host prove while the host
// allocates, collects garbage, and recovers from nil dereferences, whose
// signals must reach the right runtime.
//
//	gohost LIBRARY PARAMS CASE.gv SECONDS
//
// It prints what was done. LIBRARY is not looked at in a static build.
package main

/*
#include <stdlib.h>
#include "api.h"
*/
import "C"

import (
	"fmt"
	"log"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

const provers = 4

func main() {
	log.SetFlags(0)
	if len(os.Args) != 5 {
		log.Fatal("usage: gohost LIBRARY PARAMS CASE.gv SECONDS")
	}
	seconds, err := strconv.Atoi(os.Args[4])
	if err != nil {
		log.Fatal(err)
	}
	if C.api_load(C.CString(os.Args[1])) != 0 {
		os.Exit(1)
	}
	work := (*C.work)(C.calloc(1, C.sizeof_work))
	work.params = C.CString(os.Args[2])
	if C.gv_read(C.CString(os.Args[3]), &work.gv) != 0 {
		os.Exit(1)
	}
	load(work, time.Duration(seconds)*time.Second)
}

func load(work *C.work, duration time.Duration) {
	var proofs, recovered, collections, failures atomic.Int64
	deadline := time.Now().Add(duration)
	// Longer on a machine so busy that there is nothing to count yet.
	nothing := func() bool { return failures.Load() == 0 && (proofs.Load() == 0 || collections.Load() == 0) }
	running := func() bool { return time.Now().Before(deadline) || nothing() }
	var all sync.WaitGroup
	for range provers {
		all.Go(func() {
			for running() {
				if C.api_round(work) != 0 {
					failures.Add(1)
					return
				}
				// On the thread that has just been inside the library.
				recovered.Add(nilDereference())
				proofs.Add(1)
			}
		})
	}
	all.Go(func() {
		for running() {
			allocate()
			runtime.GC()
			collections.Add(1)
			recovered.Add(nilDereference())
		}
	})
	all.Go(func() { // a loop without calls: only a preemption signal stops it
		for running() {
			spin(20_000_000)
		}
	})
	all.Wait()
	fmt.Printf("%s: %d proofs, %d recovered nil dereferences, %d collections, %d failures\n",
		C.GoString(C.api_version()), proofs.Load(), recovered.Load(), collections.Load(), failures.Load())
	if failures.Load() != 0 || proofs.Load() == 0 || recovered.Load() == 0 || collections.Load() == 0 {
		os.Exit(1)
	}
}

// nilDereference faults, recovers and returns 1.
func nilDereference() (recovered int64) {
	defer func() {
		if recover() != nil {
			recovered = 1
		}
	}()
	return *nowhere
}

// nowhere is a variable so that the compiler cannot tell.
var nowhere *int64

var sink [][]byte

func allocate() {
	sink = nil
	for range 1000 {
		sink = append(sink, make([]byte, 4096))
	}
}

var total uint64

func spin(n uint64) {
	for i := range n {
		total += i * i
	}
}
