package main

/*
#include "calls.h"
*/
import "C"

import (
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/libcuzk/libcuzk/engine"
	"github.com/libcuzk/libcuzk/engine/groth16"
)

type (
	assignmentC = C.struct_cuzkc_assignment
	densityC    = C.struct_cuzkc_density
)

// assignmentBytesABI1 is sizeof(cuzk_assignment) in ABI 1.0.
const assignmentBytesABI1 = 144

// Largest counts that are looked at. Rows: the header's limit. Variables: a
// parameter file counts in 32 bits.
const (
	maxRows      = 1 << 28
	maxVariables = 1<<32 - 1
)

// jobPartitions converts the arrays of cuzk_job_start. nameOf is what to call an
// element of assignments in messages.
func jobPartitions(nameOf func(uint64) string, assignments address, count uint64, b blinding) ([]engine.Partition, error) {
	if count == 0 {
		return nil, nil
	}
	stride, err := structSize[assignmentC](nameOf(0), assignments, assignmentBytesABI1)
	if err != nil {
		return nil, err
	}
	return partitions(count, b, func(i uint64) (*groth16.Assignment, error) {
		name := nameOf(i)
		c, err := readStruct[assignmentC](name, assignments+address(i)*address(stride), assignmentBytesABI1)
		if err != nil {
			return nil, err
		}
		if uintptr(c.struct_size) != stride {
			return nil, refuse(errStructSize, "%s.struct_size is %d, expected %d as in %s", name, c.struct_size, stride, nameOf(0))
		}
		return assignmentOf(name, &c)
	})
}

// blinding is where the host has the blinding scalars of its partitions, and
// what the header calls the two arrays.
type blinding struct {
	r, s         address
	rName, sName string
}

// partitions makes count partitions, each of an assignment with its r and s.
// Nothing is copied but r, s and the structs.
func partitions(count uint64, b blinding, assignment func(i uint64) (*groth16.Assignment, error)) ([]engine.Partition, error) {
	// Each is looked at while the caller waits.
	if count > engine.MaxPartitions {
		return nil, refuse(errSize, "count is %d, expected at most %d", count, engine.MaxPartitions)
	}
	r, err := array[fr.Element](b.rName, b.r, count)
	if err != nil {
		return nil, err
	}
	s, err := array[fr.Element](b.sName, b.s, count)
	if err != nil {
		return nil, err
	}
	parts := make([]engine.Partition, 0, count) // never moved, which would leave copies of r and s
	for i := range count {
		a, err := assignment(i)
		if err != nil {
			wipe(parts)
			return nil, err
		}
		parts = append(parts, engine.Partition{Assignment: a, R: r[i], S: s[i]})
	}
	return parts, nil
}

// assignmentOf converts one assignment, whose vectors stay in the caller's
// memory. c.c is not looked at.
func assignmentOf(name string, c *assignmentC) (*groth16.Assignment, error) {
	f := fields{name: name}
	a := &groth16.Assignment{
		A:       f.scalars("a", c.a, "num_rows", c.num_rows, maxRows),
		B:       f.scalars("b", c.b, "num_rows", c.num_rows, maxRows),
		Inputs:  f.scalars("inputs", c.inputs, "num_inputs", c.num_inputs, maxVariables),
		Aux:     f.scalars("aux", c.aux, "num_aux", c.num_aux, maxVariables),
		AAux:    f.density("a_aux", c.a_aux),
		BInputs: f.density("b_inputs", c.b_inputs),
		BAux:    f.density("b_aux", c.b_aux),
	}
	return a, f.err
}

// fields converts the members of one struct and keeps the first error.
type fields struct {
	name string
	err  error
}

func (f *fields) scalars(member string, p address, countMember string, n C.size_t, limit uint64) []fr.Element {
	if f.err != nil {
		return nil
	}
	if uint64(n) > limit {
		f.err = refuse(errSize, "%s.%s is %d, expected at most %d", f.name, countMember, n, limit)
		return nil
	}
	var v []fr.Element
	v, f.err = array[fr.Element](f.name+"."+member, p, uint64(n))
	return v
}

func (f *fields) density(member string, d densityC) groth16.Density {
	return f.bitmap(member+".words", d.words, member+".bit_len", d.bit_len, member+".popcount", d.popcount)
}

func (f *fields) bitmap(wordsMember string, words address, lenMember string, bits C.size_t, popMember string, pop C.size_t) groth16.Density {
	if f.err != nil {
		return groth16.Density{}
	}
	if uint64(bits) > maxVariables {
		f.err = refuse(errSize, "%s.%s is %d, expected at most %d", f.name, lenMember, bits, uint64(maxVariables))
		return groth16.Density{}
	}
	if pop > bits {
		f.err = refuse(groth16.ErrDensity, "%s.%s is %d, more than its %d bits", f.name, popMember, pop, bits)
		return groth16.Density{}
	}
	d := groth16.Density{Len: int(bits), Popcount: int(pop)}
	d.Words, f.err = array[uint64](f.name+"."+wordsMember, words, (uint64(bits)+63)/64)
	return d
}
