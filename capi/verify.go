package main

/*
#include "cuzk.h"
*/
import "C"

import (
	"unsafe"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/libcuzk/libcuzk/engine"
)

//export cuzkgoVerify
func cuzkgoVerify(h C.cuzk_srs, inputs *C.cuzk_fr, numInputs C.size_t, proof *C.cuzk_proof) C.cuzk_status {
	return call("cuzk_verify", func() error {
		set, err := srsHandles.get(uint64(h))
		if err != nil {
			return err
		}
		if err := checkPointer("proof", proof); err != nil {
			return err
		}
		info, err := set.Info()
		if err != nil {
			return err
		}
		if uint64(numInputs) != info.NumInputs {
			return refuse(errSize, "num_inputs is %d, the parameters have %d inputs with the leading one", numInputs, info.NumInputs)
		}
		scalars, err := view[fr.Element]("inputs", inputs, uint64(numInputs))
		if err != nil {
			return err
		}
		// A copy: the caller may write over its proof meanwhile.
		p := *(*engine.Proof)(unsafe.Pointer(proof))
		if err := checkReduced(&p); err != nil {
			return err
		}
		return set.Verify(scalars, &p)
	})
}
