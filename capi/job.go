package main

/*
#include "cuzk.h"
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

// wait stores the proofs at out unless it is nil.
func (j *job) wait(ctx context.Context, out *proofC) error {
	proofs, err := j.Wait(ctx)
	if err != nil {
		return err
	}
	if out != nil {
		writeProofs(out, proofs)
	}
	return nil
}

//export cuzkgoJobStart
func cuzkgoJobStart(set C.cuzk_srs, assignments *C.cuzk_assignment, count C.size_t, r, s *C.cuzk_fr, options *C.cuzk_prove_options, out *C.cuzk_job) C.cuzk_status {
	return call("cuzk_job_start", func() error {
		if err := checkPointer("out", out); err != nil {
			return err
		}
		j, err := start(set, indexed("assignments"), assignments, uint64(count), r, s, options)
		if err != nil {
			return err
		}
		*out = C.cuzk_job(jobHandles.add(j))
		return nil
	})
}

//export cuzkgoJobWait
func cuzkgoJobWait(h C.cuzk_job, timeoutMS C.uint64_t, out *C.cuzk_proof) C.cuzk_status {
	return call("cuzk_job_wait", func() error {
		j, err := jobHandles.get(uint64(h))
		if err != nil {
			return err
		}
		if out != nil {
			if err := checkPointer("out", out); err != nil {
				return err
			}
		}
		return withTimeout(uint64(timeoutMS), func(ctx context.Context) error { return j.wait(ctx, out) })
	})
}

//export cuzkgoJobWaitRows
func cuzkgoJobWaitRows(h C.cuzk_job, timeoutMS C.uint64_t) C.cuzk_status {
	return call("cuzk_job_wait_rows", func() error {
		j, err := jobHandles.get(uint64(h))
		if err != nil {
			return err
		}
		return withTimeout(uint64(timeoutMS), j.WaitRows)
	})
}

//export cuzkgoJobCancel
func cuzkgoJobCancel(h C.cuzk_job) C.cuzk_status {
	return call("cuzk_job_cancel", func() error {
		j, err := jobHandles.get(uint64(h))
		if err != nil {
			return err
		}
		j.Cancel()
		return nil
	})
}

//export cuzkgoJobRelease
func cuzkgoJobRelease(h C.cuzk_job) C.cuzk_status {
	return call("cuzk_job_release", func() error {
		if h == 0 {
			return nil
		}
		j, last, err := jobHandles.release(uint64(h))
		if err != nil || !last {
			return err
		}
		j.abandon()
		return nil
	})
}

// abandon cancels the job and returns once it no longer reads the caller's
// memory. Its outcome interests nobody any more.
func (j *job) abandon() {
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
