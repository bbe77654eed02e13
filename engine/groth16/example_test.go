package groth16_test

import (
	"errors"
	"fmt"
	"log"

	"github.com/libcuzk/libcuzk/engine/groth16"
	"github.com/libcuzk/libcuzk/engine/srs"
	"github.com/libcuzk/libcuzk/internal/circuits/gv"
	"github.com/libcuzk/libcuzk/tests/golden"
)

// A proof is verified with the verifying key of its parameter file.
func Example() {
	params, f := open("mimc")
	defer func() { _ = params.Release() }()
	encoded := f.Proof.Bytes() // as it is sent

	proof, err := groth16.ParseProof(encoded[:])
	if err != nil {
		log.Fatal(err)
	}
	key, err := groth16.Prepare(params.VerifyingKey()) // once for many proofs
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(encoded), "bytes:", key.Verify(f.Assignment.Inputs, proof))

	f.Assignment.Inputs[1].SetOne()
	err = key.Verify(f.Assignment.Inputs, proof)
	fmt.Println("another input:", errors.Is(err, groth16.ErrProofInvalid))

	// Output:
	// 192 bytes: <nil>
	// another input: true
}

// An assignment is compared with the parameters before any work is done.
func ExampleValidate() {
	params, f := open("mimc")
	defer func() { _ = params.Release() }()
	fmt.Println(groth16.Validate(&f.Assignment, params.Counts()))

	other, _ := open("pow2")
	defer func() { _ = other.Release() }()
	err := groth16.Validate(&f.Assignment, other.Counts())
	fmt.Println(err)
	fmt.Println(errors.Is(err, groth16.ErrMismatch))

	// Output:
	// <nil>
	// groth16: number of aux variables (parameters of another circuit): the assignment has 645, the parameters have 1022
	// true
}

func open(name string) (*srs.Params, *gv.File) {
	c, err := golden.Named(name)
	if err != nil {
		log.Fatal(err)
	}
	params, err := srs.Open(c.Params, srs.Options{})
	if err != nil {
		log.Fatal(err)
	}
	f, err := gv.Read(c.Witnesses[0])
	if err != nil {
		log.Fatal(err)
	}
	return params, f
}
