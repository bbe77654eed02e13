package main

/*
#include "cuzk.h"
*/
import "C"

import (
	"math/bits"
	"unsafe"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fp"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/libcuzk/libcuzk/engine"
	"github.com/libcuzk/libcuzk/engine/groth16"
)

//export cuzkgoProofSerialize
func cuzkgoProofSerialize(proof *C.cuzk_proof, out *C.uint8_t) C.cuzk_status {
	return call("cuzk_proof_serialize", func() error {
		if err := checkPointer("proof", proof); err != nil {
			return err
		}
		if out == nil {
			return refuse(errNull, "out is NULL")
		}
		p := *(*engine.Proof)(unsafe.Pointer(proof))
		if err := checkReduced(&p); err != nil {
			return err
		}
		*(*[groth16.ProofBytes]byte)(unsafe.Pointer(out)) = p.Bytes()
		return nil
	})
}

//export cuzkgoProofDeserialize
func cuzkgoProofDeserialize(data *C.uint8_t, out *C.cuzk_proof) C.cuzk_status {
	return call("cuzk_proof_deserialize", func() error {
		if data == nil {
			return refuse(errNull, "bytes is NULL")
		}
		if err := checkPointer("out", out); err != nil {
			return err
		}
		p, err := groth16.ParseProof(C.GoBytes(unsafe.Pointer(data), groth16.ProofBytes))
		if err != nil {
			return err
		}
		writeProofs(out, []engine.Proof{*p})
		return nil
	})
}

//export cuzkgoRandomScalar
func cuzkgoRandomScalar(out *C.cuzk_fr) C.cuzk_status {
	return call("cuzk_random_scalar", func() error {
		if err := checkPointer("out", out); err != nil {
			return err
		}
		var x fr.Element
		if _, err := x.SetRandom(); err != nil {
			return err
		}
		*(*fr.Element)(unsafe.Pointer(out)) = x
		return nil
	})
}

// checkReduced refuses a proof with a coordinate that is not below the
// modulus: no operation on such a value is defined.
func checkReduced(p *engine.Proof) error {
	for _, c := range []struct {
		name  string
		value *fp.Element
	}{
		{"a.x", &p.A.X}, {"a.y", &p.A.Y},
		{"b.x.c0", &p.B.X.A0}, {"b.x.c1", &p.B.X.A1}, {"b.y.c0", &p.B.Y.A0}, {"b.y.c1", &p.B.Y.A1},
		{"c.x", &p.C.X}, {"c.y", &p.C.Y},
	} {
		if !belowModulus(c.value) {
			return refuse(errScalar, "proof.%s is not below the modulus", c.name)
		}
	}
	return nil
}

// belowModulus compares the limbs as they lie in memory with the modulus p.
func belowModulus(x *fp.Element) bool {
	var borrow uint64
	for i := range x {
		_, borrow = bits.Sub64(x[i], modulusLimbs[i], borrow)
	}
	return borrow == 1
}

var modulusLimbs = func() (m [fp.Limbs]uint64) {
	for i, w := range fp.Modulus().Bits() {
		m[i] = uint64(w)
	}
	return m
}()
