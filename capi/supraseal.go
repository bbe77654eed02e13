package main

/*
#include "calls.h"
*/
import "C"

import (
	"context"

	"github.com/libcuzk/libcuzk/engine"
	"github.com/libcuzk/libcuzk/engine/groth16"
)

type (
	suprasealAssignmentC = C.struct_cuzkc_supraseal_assignment
	suprasealProveArgs   = C.struct_cuzkc_supraseal_prove_args
)

// suprasealSRS is what a supraseal handle stands for. Every clone is a handle
// of its own, so that dropping one twice never takes another's.
type suprasealSRS struct {
	srs  uint64 // handle of srsHandles; each suprasealSRS has one reference
	path string
}

var (
	suprasealHandles = handleTable[suprasealSRS]{kind: kindSuprasealSRS}
	pendingHandles   = handleTable[*job]{kind: kindPending}
)

//export cuzkgoSuprasealOpen
func cuzkgoSuprasealOpen(packed C.uintptr_t) C.cuzk_status {
	return call("create_SRS", func() error {
		args := arguments[C.struct_cuzkc_supraseal_open_args](packed)
		path, err := stringAt("srs_path", args.path)
		if err != nil {
			return err
		}
		if err := checkPointer("ret", args.ret); err != nil {
			return err
		}
		s := suprasealSRS{path: path}
		if args.cache != 0 {
			s.srs, err = suprasealSets.open(s.path)
		} else {
			s.srs, err = openSRS(s.path, engine.SRSOptions{})
		}
		if err != nil {
			return err
		}
		write(args.handle_out, suprasealHandles.add(s))
		return nil
	})
}

//export cuzkgoSuprasealEvict
func cuzkgoSuprasealEvict(packed C.uintptr_t) C.cuzk_status {
	return call("evict_SRS", func() error {
		s, err := suprasealHandles.get(handleArgument(packed))
		if err != nil {
			return err
		}
		return suprasealSets.evict(s.path)
	})
}

//export cuzkgoSuprasealDrop
func cuzkgoSuprasealDrop(packed C.uintptr_t) C.cuzk_status {
	return call("drop_SRS", func() error {
		h := handleArgument(packed)
		if h == 0 {
			return nil
		}
		s, _, err := suprasealHandles.release(h)
		if err != nil {
			return err
		}
		return releaseSRS(s.srs)
	})
}

//export cuzkgoSuprasealClone
func cuzkgoSuprasealClone(packed C.uintptr_t) C.cuzk_status {
	return call("clone_SRS", func() error {
		args := arguments[C.struct_cuzkc_supraseal_clone_args](packed)
		s, err := suprasealHandles.get(uint64(args.handle))
		if err != nil {
			return err
		}
		if err := srsHandles.retain(s.srs); err != nil {
			return err
		}
		write(args.handle_out, suprasealHandles.add(s))
		return nil
	})
}

//export cuzkgoSuprasealProve
func cuzkgoSuprasealProve(packed C.uintptr_t) C.cuzk_status {
	return call("generate_groth16_proofs_c", func() error {
		args := arguments[suprasealProveArgs](packed)
		if args.count == 0 {
			return nil
		}
		if _, err := array[engine.Proof]("proofs", args.out, uint64(args.count)); err != nil {
			return err
		}
		j, err := suprasealStart(&args)
		if err != nil {
			return err
		}
		return j.wait(context.Background(), args.out)
	})
}

//export cuzkgoSuprasealStart
func cuzkgoSuprasealStart(packed C.uintptr_t) C.cuzk_status {
	return call("generate_groth16_proofs_start_c", func() error {
		args := arguments[suprasealProveArgs](packed)
		if err := checkPointer("pending_out", args.out); err != nil {
			return err
		}
		j, err := suprasealStart(&args)
		if err != nil {
			return err
		}
		if err := j.WaitRows(context.Background()); err != nil {
			j.cancelAndWait()
			return err
		}
		// A job that failed already is answered here, while the caller still
		// has everything.
		select {
		case <-j.Done():
			if err := j.wait(context.Background(), 0); err != nil {
				return err
			}
		default:
		}
		write(args.handle_out, pendingHandles.add(j))
		return nil
	})
}

//export cuzkgoSuprasealFinalize
func cuzkgoSuprasealFinalize(packed C.uintptr_t) C.cuzk_status {
	return call("finalize_groth16_proof_c", func() error {
		args := arguments[C.struct_cuzkc_supraseal_finalize_args](packed)
		j, _, err := pendingHandles.release(uint64(args.handle))
		if err != nil {
			return err
		}
		if _, err := array[engine.Proof]("proofs", args.proofs, uint64(j.count)); err != nil {
			j.cancelAndWait()
			return err
		}
		return j.wait(context.Background(), args.proofs)
	})
}

//export cuzkgoSuprasealDestroy
func cuzkgoSuprasealDestroy(packed C.uintptr_t) C.cuzk_status {
	return call("destroy_pending_proof", func() error {
		j, _, err := pendingHandles.release(handleArgument(packed))
		if err != nil {
			return err
		}
		j.cancelAndWait()
		return nil
	})
}

func suprasealStart(args *suprasealProveArgs) (*job, error) {
	if args.device < C.CUZK_DEVICE_ANY {
		return nil, refuse(errValue, "gpu_index is %d, expected %d (any) or an index", args.device, C.CUZK_DEVICE_ANY)
	}
	if err := checkPointer("srs", args.srs); err != nil {
		return nil, err
	}
	s, err := suprasealHandles.get(*at[uint64](args.srs))
	if err != nil {
		return nil, err
	}
	set, err := srsHandles.get(s.srs)
	if err != nil {
		return nil, err
	}
	parts, err := suprasealPartitions(args)
	if err != nil {
		return nil, err
	}
	opt := engine.DefaultProveOptions()
	opt.Device = deviceIndex(args.device)
	return startJob(set, parts, opt)
}

// suprasealPartitions converts the arrays of supraseal's calls.
func suprasealPartitions(args *suprasealProveArgs) ([]engine.Partition, error) {
	count := uint64(args.count)
	structs, err := array[suprasealAssignmentC]("provers", args.provers, count)
	if err != nil {
		return nil, err
	}
	nameOf := indexed("provers")
	return partitions(count, blinding{args.r, args.s, "r_s", "s_s"}, func(i uint64) (*groth16.Assignment, error) {
		c := structs[i] // a copy: the caller may write over it meanwhile
		return suprasealAssignment(nameOf(i), &c)
	})
}

// suprasealAssignment is assignmentOf for supraseal's struct.
func suprasealAssignment(name string, c *suprasealAssignmentC) (*groth16.Assignment, error) {
	f := fields{name: name}
	a := &groth16.Assignment{
		A:       f.scalars("a", c.a, "abc_size", c.num_rows, maxRows),
		B:       f.scalars("b", c.b, "abc_size", c.num_rows, maxRows),
		Inputs:  f.scalars("inp_assignment_data", c.inputs, "inp_assignment_size", c.num_inputs, maxVariables),
		Aux:     f.scalars("aux_assignment_data", c.aux, "aux_assignment_size", c.num_aux, maxVariables),
		AAux:    f.bitmap("a_aux_density", c.a_aux.words, "a_aux_bit_len", c.a_aux.bit_len, "a_aux_popcount", c.a_aux.popcount),
		BInputs: f.bitmap("b_inp_density", c.b_inputs.words, "b_inp_bit_len", c.b_inputs.bit_len, "b_inp_popcount", c.b_inputs.popcount),
		BAux:    f.bitmap("b_aux_density", c.b_aux.words, "b_aux_bit_len", c.b_aux.bit_len, "b_aux_popcount", c.b_aux.popcount),
	}
	return a, f.err
}
