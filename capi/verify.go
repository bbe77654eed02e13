package main

/*
#include "calls.h"
*/
import "C"

import "github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

//export cuzkgoVerify
func cuzkgoVerify(packed C.uintptr_t) C.cuzk_status {
	return call("cuzk_verify", func() error {
		args := arguments[C.struct_cuzkc_verify_args](packed)
		set, err := srsHandles.get(uint64(args.srs))
		if err != nil {
			return err
		}
		p, err := proofAt("proof", args.proof)
		if err != nil {
			return err
		}
		info, err := set.Info()
		if err != nil {
			return err
		}
		if uint64(args.num_inputs) != info.NumInputs {
			return refuse(errSize, "num_inputs is %d, the parameters have %d inputs with the leading one", args.num_inputs, info.NumInputs)
		}
		scalars, err := array[fr.Element]("inputs", args.inputs, uint64(args.num_inputs))
		if err != nil {
			return err
		}
		if err := p.CheckReduced(); err != nil {
			return err
		}
		return set.Verify(scalars, &p)
	})
}
