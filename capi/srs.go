package main

/*
#include "cuzk.h"
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
func cuzkgoSRSOpen(path *C.char, options *C.cuzk_srs_options, out *C.cuzk_srs) C.cuzk_status {
	return call("cuzk_srs_open", func() error {
		if path == nil {
			return refuse(errNull, "path is NULL")
		}
		if err := checkPointer("out", out); err != nil {
			return err
		}
		opt, err := srsOptions(options)
		if err != nil {
			return err
		}
		set, err := openSRS(C.GoString(path), opt)
		if err != nil {
			return err
		}
		*out = C.cuzk_srs(srsHandles.add(set))
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

func srsOptions(p *srsOptionsC) (engine.SRSOptions, error) {
	if p == nil {
		return engine.SRSOptions{}, nil
	}
	o, err := readStruct("options", p, firstSRSOptions)
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

//export cuzkgoSRSRetain
func cuzkgoSRSRetain(h C.cuzk_srs) C.cuzk_status {
	return call("cuzk_srs_retain", func() error {
		return srsHandles.retain(uint64(h))
	})
}

//export cuzkgoSRSRelease
func cuzkgoSRSRelease(h C.cuzk_srs) C.cuzk_status {
	return call("cuzk_srs_release", func() error {
		if h == 0 {
			return nil
		}
		set, last, err := srsHandles.release(uint64(h))
		if err != nil || !last {
			return err
		}
		return set.Release()
	})
}

//export cuzkgoSRSGetInfo
func cuzkgoSRSGetInfo(h C.cuzk_srs, out *C.cuzk_srs_info) C.cuzk_status {
	return call("cuzk_srs_get_info", func() error {
		set, err := srsHandles.get(uint64(h))
		if err != nil {
			return err
		}
		size, err := structSize("out", out, firstSRSInfo)
		if err != nil {
			return err
		}
		info, err := set.Info()
		if err != nil {
			return err
		}
		writeStruct(out, size, srsInfoC{
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
