package main

/*
#include "calls.h"
*/
import "C"

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/libcuzk/libcuzk/engine"
)

// job is a started call with the number of proofs it gives.
type job struct {
	*engine.Job
	count int
}

var jobHandles = handleTable[*job]{kind: kindJob}

// wait stores the proofs at out unless it is 0.
func (j *job) wait(ctx context.Context, out address) error {
	proofs, err := j.Wait(ctx)
	if err != nil {
		return err
	}
	if out != 0 && len(proofs) > 0 {
		writeProofs(out, proofs)
	}
	return nil
}

//export cuzkgoJobStart
func cuzkgoJobStart(packed C.uintptr_t) C.cuzk_status {
	return call("cuzk_job_start", func() error {
		args := arguments[proveArgs](packed)
		if err := checkPointer("out", args.out); err != nil {
			return err
		}
		j, err := start(&args, indexed("assignments"))
		if err != nil {
			return err
		}
		write(args.out, jobHandles.add(j))
		return nil
	})
}

//export cuzkgoJobWait
func cuzkgoJobWait(packed C.uintptr_t) C.cuzk_status {
	return call("cuzk_job_wait", func() error {
		args := arguments[C.struct_cuzkc_job_wait_args](packed)
		j, err := jobHandles.get(uint64(args.job))
		if err != nil {
			return err
		}
		if args.out != 0 {
			if err := checkPointer("out", args.out); err != nil {
				return err
			}
		}
		return withTimeout(uint64(args.timeout_ms), func(ctx context.Context) error { return j.wait(ctx, args.out) })
	})
}

//export cuzkgoJobWaitRows
func cuzkgoJobWaitRows(packed C.uintptr_t) C.cuzk_status {
	return call("cuzk_job_wait_rows", func() error {
		args := arguments[C.struct_cuzkc_job_wait_args](packed)
		j, err := jobHandles.get(uint64(args.job))
		if err != nil {
			return err
		}
		return withTimeout(uint64(args.timeout_ms), j.WaitRows)
	})
}

//export cuzkgoJobCancel
func cuzkgoJobCancel(packed C.uintptr_t) C.cuzk_status {
	return call("cuzk_job_cancel", func() error {
		j, err := jobHandles.get(handleArgument(packed))
		if err != nil {
			return err
		}
		j.Cancel()
		return nil
	})
}

//export cuzkgoJobRelease
func cuzkgoJobRelease(packed C.uintptr_t) C.cuzk_status {
	return call("cuzk_job_release", func() error {
		h := handleArgument(packed)
		if h == 0 {
			return nil
		}
		j, last, err := jobHandles.release(h)
		if err != nil || !last {
			return err
		}
		j.cancelAndWait()
		return nil
	})
}

// cancelAndWait cancels the job and returns once it no longer reads the caller's
// memory. Nobody asks for its outcome.
func (j *job) cancelAndWait() {
	j.Cancel()
	<-j.Done()
}

// withTimeout calls wait with a context that ends after ms milliseconds; a
// time too long to count is forever, like CUZK_WAIT_FOREVER.
func withTimeout(ms uint64, wait func(context.Context) error) error {
	if ms > math.MaxInt64/uint64(time.Millisecond) {
		return wait(context.Background())
	}
	ctx, stop := context.WithTimeout(context.Background(), time.Duration(ms)*time.Millisecond)
	defer stop()
	err := wait(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		return refuse(errTimeout, "not finished after %d ms", ms)
	}
	return err
}
