package main

/*
#include "calls.h"
*/
import "C"

import (
	"context"

	"github.com/libcuzk/libcuzk/engine"
)

// Aliases of the header's types, so that tests, which cannot use cgo, can name
// them.
type (
	srsOptionsC = C.cuzk_srs_options
	srsInfoC    = C.cuzk_srs_info
)

// sizeof in ABI 1.0 (struct.go), like the other …BytesABI1.
const (
	srsOptionsBytesABI1 = 16
	srsInfoBytesABI1    = 64
)

// srsHandles has every set that the host has open. References are counted here
// and nowhere else in this package: cuzk_srs_retain adds one, and so does each
// handle of supraseal's and each entry of its cache.
var srsHandles = handleTable[*engine.SRS]{kind: kindSRS}

//export cuzkgoSRSOpen
func cuzkgoSRSOpen(packed C.uintptr_t) C.cuzk_status {
	return call("cuzk_srs_open", func() error {
		args := arguments[C.struct_cuzkc_srs_open_args](packed)
		path, err := stringAt("path", args.path)
		if err != nil {
			return err
		}
		if err := checkPointer("out", args.out); err != nil {
			return err
		}
		opt, err := srsOptions(args.options)
		if err != nil {
			return err
		}
		h, err := openSRS(path, opt)
		if err != nil {
			return err
		}
		write(args.out, h)
		return nil
	})
}

// openSRS returns a handle of srsHandles with one reference.
func openSRS(path string, opt engine.SRSOptions) (uint64, error) {
	e, err := theEngine()
	if err != nil {
		return 0, err
	}
	set, err := e.OpenSRS(context.Background(), path, opt)
	if err != nil {
		return 0, err
	}
	return srsHandles.add(set), nil
}

// releaseSRS gives a reference back, and the set with the last one.
func releaseSRS(h uint64) error {
	set, last, err := srsHandles.release(h)
	if err != nil || !last {
		return err
	}
	return set.Release()
}

func srsOptions(p address) (engine.SRSOptions, error) {
	if p == 0 {
		return engine.SRSOptions{}, nil
	}
	o, err := readStruct[srsOptionsC]("options", p, srsOptionsBytesABI1)
	if err != nil {
		return engine.SRSOptions{}, err
	}
	if unknown := o.flags &^ C.CUZK_SRS_CHECK_SUBGROUP; unknown != 0 {
		return engine.SRSOptions{}, refuse(errValue, "options.flags has unknown bits %#x", unknown)
	}
	if o.reserved != 0 {
		return engine.SRSOptions{}, refuse(errValue, "options.reserved is %d, expected 0", o.reserved)
	}
	return engine.SRSOptions{CheckSubgroup: o.flags&C.CUZK_SRS_CHECK_SUBGROUP != 0}, nil
}

// handleArgument is the argument of a call with a handle alone.
func handleArgument(packed C.uintptr_t) uint64 {
	return uint64(arguments[C.struct_cuzkc_handle_args](packed).handle)
}

//export cuzkgoSRSRetain
func cuzkgoSRSRetain(packed C.uintptr_t) C.cuzk_status {
	return call("cuzk_srs_retain", func() error {
		return srsHandles.retain(handleArgument(packed))
	})
}

//export cuzkgoSRSRelease
func cuzkgoSRSRelease(packed C.uintptr_t) C.cuzk_status {
	return call("cuzk_srs_release", func() error {
		h := handleArgument(packed)
		if h == 0 {
			return nil
		}
		return releaseSRS(h)
	})
}

//export cuzkgoSRSGetInfo
func cuzkgoSRSGetInfo(packed C.uintptr_t) C.cuzk_status {
	return call("cuzk_srs_get_info", func() error {
		args := arguments[C.struct_cuzkc_srs_get_info_args](packed)
		set, err := srsHandles.get(uint64(args.srs))
		if err != nil {
			return err
		}
		size, err := structSize[srsInfoC]("out", args.out, srsInfoBytesABI1)
		if err != nil {
			return err
		}
		info, err := set.Info()
		if err != nil {
			return err
		}
		writeStruct(args.out, size, srsInfoC{
			domain_size: C.uint64_t(info.DomainSize),
			num_inputs:  C.uint64_t(info.NumInputs),
			num_aux:     C.uint64_t(info.NumAux),
			num_a:       C.uint64_t(info.NumA),
			num_b:       C.uint64_t(info.NumB),
			file_bytes:  C.uint64_t(info.FileBytes),
			point_bytes: C.uint64_t(info.PointBytes),
		})
		return nil
	})
}
