package main

/*
#include "calls.h"
*/
import "C"

import (
	"context"
	"fmt"
	"unsafe"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/libcuzk/libcuzk/engine"
)

type (
	proveOptionsC = C.cuzk_prove_options
	proveArgs     = C.struct_cuzkc_prove_args
)

// proveOptionsBytesABI1 is sizeof(cuzk_prove_options) in ABI 1.0.
const proveOptionsBytesABI1 = 24

//export cuzkgoProvePartition
func cuzkgoProvePartition(packed C.uintptr_t) C.cuzk_status {
	return call("cuzk_prove_partition", func() error {
		args := arguments[proveArgs](packed)
		if err := checkPointer("out", args.out); err != nil {
			return err
		}
		job, err := start(&args, func(uint64) string { return "assignment" })
		if err != nil {
			return err
		}
		return job.wait(context.Background(), args.out)
	})
}

// start is the common part of cuzk_prove_partition and cuzk_job_start.
// nameOf is what to call an assignment in messages.
func start(args *proveArgs, nameOf func(uint64) string) (*job, error) {
	srs, err := srsHandles.get(uint64(args.srs))
	if err != nil {
		return nil, err
	}
	opt, err := proveOptions(args.options)
	if err != nil {
		return nil, err
	}
	parts, err := jobPartitions(nameOf, args.assignments, uint64(args.count), blinding{args.r, args.s, "r", "s"})
	if err != nil {
		return nil, err
	}
	return startJob(srs, parts, opt)
}

func startJob(srs *engine.SRS, parts []engine.Partition, opt engine.ProveOptions) (*job, error) {
	defer wipe(parts)
	e, err := theEngine()
	if err != nil {
		return nil, err
	}
	j, err := e.Start(context.Background(), srs, parts, opt)
	if err != nil {
		return nil, err
	}
	return &job{Job: j, count: len(parts)}, nil
}

// wipe leaves no copy of the blinding scalars, which are secret.
func wipe(parts []engine.Partition) {
	for i := range parts {
		parts[i].R, parts[i].S = fr.Element{}, fr.Element{}
	}
}

func proveOptions(p address) (engine.ProveOptions, error) {
	if p == 0 {
		return engine.DefaultProveOptions(), nil
	}
	var none engine.ProveOptions
	o, err := readStruct[proveOptionsC]("options", p, proveOptionsBytesABI1)
	if err != nil {
		return none, err
	}
	priority, known := priorities[o.priority]
	switch unknown := o.flags &^ C.CUZK_PROVE_NO_SELF_CHECK; {
	case unknown != 0:
		return none, refuse(errValue, "options.flags has unknown bits %#x", unknown)
	case o.reserved != 0:
		return none, refuse(errValue, "options.reserved is %d, expected 0", o.reserved)
	case !known:
		return none, refuse(errValue, "options.priority is %d, expected %d to %d", o.priority, C.CUZK_PRIORITY_DEFAULT, C.CUZK_PRIORITY_CRITICAL)
	case o.device < C.CUZK_DEVICE_ANY:
		return none, refuse(errValue, "options.device is %d, expected %d (any) or an index", o.device, C.CUZK_DEVICE_ANY)
	}
	return engine.ProveOptions{
		Priority:      priority,
		Device:        deviceIndex(o.device),
		SkipSelfCheck: o.flags&C.CUZK_PROVE_NO_SELF_CHECK != 0,
	}, nil
}

var priorities = map[C.int32_t]engine.Priority{
	C.CUZK_PRIORITY_DEFAULT:  engine.PriorityDefault,
	C.CUZK_PRIORITY_LOW:      engine.PriorityLow,
	C.CUZK_PRIORITY_NORMAL:   engine.PriorityNormal,
	C.CUZK_PRIORITY_HIGH:     engine.PriorityHigh,
	C.CUZK_PRIORITY_CRITICAL: engine.PriorityCritical,
}

func deviceIndex(device C.int32_t) int {
	if device == C.CUZK_DEVICE_ANY {
		return engine.AnyDevice
	}
	return int(device)
}

// writeProofs stores proofs at out, which the caller has made large enough.
// cuzk_proof and engine.Proof have the same layout.
func writeProofs(out address, proofs []engine.Proof) {
	copy(unsafe.Slice(at[engine.Proof](out), len(proofs)), proofs)
}

// indexed names the elements of an array.
func indexed(array string) func(uint64) string {
	return func(i uint64) string { return fmt.Sprintf("%s[%d]", array, i) }
}
