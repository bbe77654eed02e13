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

// Sizes in ABI 1.0 (struct.go).
const (
	firstSRSOptions = 16
	firstSRSInfo    = 64
)

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
		set, err := openSRS(path, opt)
		if err != nil {
			return err
		}
		write(args.out, srsHandles.add(set))
		return nil
	})
}

func openSRS(path string, opt engine.SRSOptions) (*engine.SRS, error) {
	e, err := theEngine()
	if err != nil {
		return nil, err
	}
	return e.OpenSRS(context.Background(), path, opt)
}

func srsOptions(p address) (engine.SRSOptions, error) {
	if p == 0 {
		return engine.SRSOptions{}, nil
	}
	o, err := readStruct[srsOptionsC]("options", p, firstSRSOptions)
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
		set, last, err := srsHandles.release(h)
		if err != nil || !last {
			return err
		}
		return set.Release()
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
		size, err := structSize[srsInfoC]("out", args.out, firstSRSInfo)
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
