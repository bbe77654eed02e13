package cpu_test

import (
	"context"
	"fmt"
	"log"

	"github.com/libcuzk/libcuzk/engine/backend"
	"github.com/libcuzk/libcuzk/engine/cpu"
	"github.com/libcuzk/libcuzk/engine/groth16"
	"github.com/libcuzk/libcuzk/engine/srs"
	"github.com/libcuzk/libcuzk/internal/circuits/gv"
	"github.com/libcuzk/libcuzk/tests/golden"
)

// Mostly an engine calls the back end: engine.Config takes cpu.New. Without one,
// a partition goes through the same steps by hand.
func Example() {
	ctx := context.Background()
	d, err := cpu.New(cpu.Options{Workers: 2}).Open(0)
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = d.Close() }()

	path, f := partition()
	params, err := srs.Open(path, srs.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = params.Release() }()
	if err := groth16.Validate(&f.Assignment, params.Counts()); err != nil {
		log.Fatal(err)
	}
	if err := d.Load(ctx, params); err != nil {
		log.Fatal(err)
	}
	sums, err := d.Prove(ctx, &backend.Partition{
		Params:     params,
		Assignment: &f.Assignment,
		RowsRead:   func() { fmt.Println("A and B are free") },
		Stage:      func(name string, _ float64) { fmt.Println("done:", name) },
	})
	if err != nil {
		log.Fatal(err)
	}
	proof, err := groth16.Assemble(params.VerifyingKey(), sums, &f.R, &f.S)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("bellperson's proof:", *proof == *f.Proof)

	// Output:
	// A and B are free
	// done: quotient
	// done: classify
	// done: sums
	// bellperson's proof: true
}

// partition stands for the caller's parameter file and synthesized partition.
func partition() (path string, f *gv.File) {
	c, err := golden.Named("mimc")
	if err != nil {
		log.Fatal(err)
	}
	f, err = gv.Read(c.Witnesses[0])
	if err != nil {
		log.Fatal(err)
	}
	return c.Params, f
}
