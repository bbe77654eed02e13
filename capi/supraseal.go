package main

/*
#include "supraseal_c2.h"
*/
import "C"

import (
	"context"
	"unsafe"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/libcuzk/libcuzk/engine"
	"github.com/libcuzk/libcuzk/engine/groth16"
)

type suprasealAssignmentC = C.supraseal_assignment

// suprasealSRS is what a supraseal handle stands for. Every clone is a handle
// of its own, so that dropping one twice never takes another's.
type suprasealSRS struct {
	set  *engine.SRS // one reference for each handle and cache entry
	path string
}

var (
	suprasealHandles = handleTable[suprasealSRS]{kind: kindSuprasealSRS}
	pendingHandles   = handleTable[*job]{kind: kindPending}
)

// cuzkgoSuprasealOpen stores the new handle at handle; ret is where the C side
// puts it afterwards.
//
//export cuzkgoSuprasealOpen
func cuzkgoSuprasealOpen(path *C.char, cache C.int, ret *C.supraseal_srs, handle *C.uint64_t) C.cuzk_status {
	return call("create_SRS", func() error {
		if path == nil {
			return refuse(errNull, "srs_path is NULL")
		}
		if err := checkPointer("ret", ret); err != nil {
			return err
		}
		s := suprasealSRS{path: C.GoString(path)}
		var err error
		if cache != 0 {
			s.set, err = suprasealSets.open(s.path)
		} else {
			s.set, err = openSRS(s.path, engine.SRSOptions{})
		}
		if err != nil {
			return err
		}
		*handle = C.uint64_t(suprasealHandles.add(s))
		return nil
	})
}

//export cuzkgoSuprasealEvict
func cuzkgoSuprasealEvict(h C.uint64_t) {
	call("evict_SRS", func() error {
		s, err := suprasealHandles.get(uint64(h))
		if err != nil {
			return err
		}
		return suprasealSets.evict(s.path)
	})
}

//export cuzkgoSuprasealDrop
func cuzkgoSuprasealDrop(h C.uint64_t) {
	call("drop_SRS", func() error {
		if h == 0 {
			return nil
		}
		s, _, err := suprasealHandles.release(uint64(h))
		if err != nil {
			return err
		}
		return s.set.Release()
	})
}

//export cuzkgoSuprasealClone
func cuzkgoSuprasealClone(h C.uint64_t) (clone C.uint64_t) {
	call("clone_SRS", func() error {
		s, err := suprasealHandles.get(uint64(h))
		if err != nil {
			return err
		}
		if err := s.set.Retain(); err != nil {
			return err
		}
		clone = C.uint64_t(suprasealHandles.add(s))
		return nil
	})
	return clone
}

//export cuzkgoSuprasealProve
func cuzkgoSuprasealProve(provers *C.supraseal_assignment, count C.size_t, r, s *C.cuzk_fr, proofs *C.cuzk_proof, srs *C.supraseal_srs, device C.int32_t) C.cuzk_status {
	return call("generate_groth16_proofs_c", func() error {
		if count == 0 {
			return nil
		}
		if _, err := array("proofs", proofs, uint64(count)); err != nil {
			return err
		}
		j, err := suprasealStart(provers, uint64(count), r, s, srs, device)
		if err != nil {
			return err
		}
		return j.wait(context.Background(), proofs)
	})
}

//export cuzkgoSuprasealStart
func cuzkgoSuprasealStart(provers *C.supraseal_assignment, count C.size_t, r, s *C.cuzk_fr, srs *C.supraseal_srs, device C.int32_t, pending *unsafe.Pointer, handle *C.uint64_t) C.cuzk_status {
	return call("generate_groth16_proofs_start_c", func() error {
		if err := checkPointer("pending_out", pending); err != nil {
			return err
		}
		j, err := suprasealStart(provers, uint64(count), r, s, srs, device)
		if err != nil {
			return err
		}
		if err := j.WaitRows(context.Background()); err != nil {
			j.abandon()
			return err
		}
		// A job that failed already is answered here, while the caller still
		// has everything.
		select {
		case <-j.Done():
			if err := j.wait(context.Background(), nil); err != nil {
				return err
			}
		default:
		}
		*handle = C.uint64_t(pendingHandles.add(j))
		return nil
	})
}

//export cuzkgoSuprasealFinalize
func cuzkgoSuprasealFinalize(h C.uint64_t, proofs *C.cuzk_proof) C.cuzk_status {
	return call("finalize_groth16_proof_c", func() error {
		j, _, err := pendingHandles.release(uint64(h))
		if err != nil {
			return err
		}
		if _, err := array("proofs", proofs, uint64(j.count)); err != nil {
			j.abandon()
			return err
		}
		return j.wait(context.Background(), proofs)
	})
}

//export cuzkgoSuprasealDestroy
func cuzkgoSuprasealDestroy(h C.uint64_t) {
	call("destroy_pending_proof", func() error {
		j, _, err := pendingHandles.release(uint64(h))
		if err != nil {
			return err
		}
		j.abandon()
		return nil
	})
}

func suprasealStart(provers *suprasealAssignmentC, count uint64, r, s *frC, srs *C.supraseal_srs, device C.int32_t) (*job, error) {
	if device < C.CUZK_DEVICE_ANY {
		return nil, refuse(errValue, "gpu_index is %d, expected %d (any) or an index", device, C.CUZK_DEVICE_ANY)
	}
	if err := checkPointer("srs", srs); err != nil {
		return nil, err
	}
	set, err := suprasealHandles.get(uint64(uintptr(srs.ptr)))
	if err != nil {
		return nil, err
	}
	parts, err := suprasealPartitions(provers, count, r, s)
	if err != nil {
		return nil, err
	}
	opt := engine.DefaultProveOptions()
	opt.Device = deviceIndex(device)
	return startJob(set.set, parts, opt)
}

func suprasealPartitions(provers *suprasealAssignmentC, count uint64, r, s *frC) ([]engine.Partition, error) {
	structs, err := array("provers", provers, count)
	if err != nil {
		return nil, err
	}
	rs, err := view[fr.Element]("r_s", r, count)
	if err != nil {
		return nil, err
	}
	ss, err := view[fr.Element]("s_s", s, count)
	if err != nil {
		return nil, err
	}
	nameOf := indexed("provers")
	var parts []engine.Partition // grows as it goes: count may be garbage
	for i := range structs {
		c := structs[i] // a copy: the caller may write over it meanwhile
		a, err := suprasealAssignment(nameOf(uint64(i)), &c)
		if err != nil {
			return nil, err
		}
		parts = append(parts, engine.Partition{Assignment: a, R: rs[i], S: ss[i]})
	}
	return parts, nil
}

// suprasealAssignment is assignmentOf for supraseal's struct.
func suprasealAssignment(name string, c *suprasealAssignmentC) (*groth16.Assignment, error) {
	f := fields{name: name}
	a := &groth16.Assignment{
		A:       f.scalars("a", c.a, "abc_size", c.abc_size, maxRows),
		B:       f.scalars("b", c.b, "abc_size", c.abc_size, maxRows),
		Inputs:  f.scalars("inp_assignment_data", c.inp_assignment_data, "inp_assignment_size", c.inp_assignment_size, maxVariables),
		Aux:     f.scalars("aux_assignment_data", c.aux_assignment_data, "aux_assignment_size", c.aux_assignment_size, maxVariables),
		AAux:    f.bitmap("a_aux_density", c.a_aux_density, "a_aux_bit_len", c.a_aux_bit_len, "a_aux_popcount", c.a_aux_popcount),
		BInputs: f.bitmap("b_inp_density", c.b_inp_density, "b_inp_bit_len", c.b_inp_bit_len, "b_inp_popcount", c.b_inp_popcount),
		BAux:    f.bitmap("b_aux_density", c.b_aux_density, "b_aux_bit_len", c.b_aux_bit_len, "b_aux_popcount", c.b_aux_popcount),
	}
	return a, f.err
}
