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

//export cuzkgoProofSerialize
func cuzkgoProofSerialize(packed C.uintptr_t) C.cuzk_status {
	return call("cuzk_proof_serialize", func() error {
		args := arguments[C.struct_cuzkc_proof_serialize_args](packed)
		p, err := proofAt("proof", args.proof)
		if err != nil {
			return err
		}
		if err := checkAligned("out", args.out, 1); err != nil {
			return err
		}
		if err := p.CheckReduced(); err != nil {
			return err
		}
		*at[[groth16.ProofBytes]byte](args.out) = p.Bytes()
		return nil
	})
}

//export cuzkgoProofDeserialize
func cuzkgoProofDeserialize(packed C.uintptr_t) C.cuzk_status {
	return call("cuzk_proof_deserialize", func() error {
		args := arguments[C.struct_cuzkc_proof_deserialize_args](packed)
		if err := checkAligned("bytes", args.bytes, 1); err != nil {
			return err
		}
		if err := checkPointer("out", args.out); err != nil {
			return err
		}
		data := *at[[groth16.ProofBytes]byte](args.bytes)
		p, err := groth16.ParseProof(data[:])
		if err != nil {
			return err
		}
		writeProofs(args.out, []engine.Proof{*p})
		return nil
	})
}

//export cuzkgoRandomScalar
func cuzkgoRandomScalar(packed C.uintptr_t) C.cuzk_status {
	return call("cuzk_random_scalar", func() error {
		args := arguments[C.struct_cuzkc_out_args](packed)
		if err := checkPointer("out", args.out); err != nil {
			return err
		}
		var x fr.Element
		if _, err := x.SetRandom(); err != nil {
			return err
		}
		*at[fr.Element](args.out) = x
		return nil
	})
}

// proofAt copies the proof at p: the caller may write over it meanwhile. Its
// coordinates may be any numbers.
func proofAt(name string, p address) (engine.Proof, error) {
	if err := checkPointer(name, p); err != nil {
		return engine.Proof{}, err
	}
	return *at[engine.Proof](p), nil
}
