package engine_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/libcuzk/libcuzk/engine"
	"github.com/libcuzk/libcuzk/engine/backend"
	"github.com/libcuzk/libcuzk/engine/cpu"
	"github.com/libcuzk/libcuzk/internal/circuits/gv"
	"github.com/libcuzk/libcuzk/tests/golden"
)

// One engine a process, which opens a parameter set once and proves any number
// of partitions with it.
func Example() {
	ctx := context.Background()
	e, err := engine.New(engine.Config{Providers: []backend.Provider{cpu.New(cpu.Options{})}})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = e.Close() }()

	path, f := porep()
	set, err := e.OpenSRS(ctx, path, engine.SRSOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = set.Release() }()
	proof, err := e.Prove(ctx, set, engine.Partition{Assignment: &f.Assignment, R: f.R, S: f.S}, engine.DefaultProveOptions())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("bellperson's proof:", proof == *f.Proof)

	// Output:
	// bellperson's proof: true
}

// A job proves several partitions of a circuit. A and B of each may be freed
// before its proofs are made.
func ExampleEngine_Start() {
	ctx := context.Background()
	e, err := engine.New(engine.Config{Providers: []backend.Provider{cpu.New(cpu.Options{})}})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = e.Close() }()
	path, f := porep()
	set, err := e.OpenSRS(ctx, path, engine.SRSOptions{})
	if err != nil {
		log.Fatal(err)
	}

	p := engine.Partition{Assignment: &f.Assignment, R: f.R, S: f.S}
	job, err := e.Start(ctx, set, []engine.Partition{p, p, p}, engine.DefaultProveOptions())
	if err != nil {
		log.Fatal(err)
	}
	if err := job.WaitRows(ctx); err != nil {
		log.Fatal(err)
	}
	f.Assignment.A, f.Assignment.B = nil, nil
	proofs, err := job.Wait(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(proofs), "proofs")

	// Output:
	// 3 proofs
}

// Errors are told apart with errors.Is; the text says what, where, expected and
// got.
func ExampleEngine_Prove_refused() {
	ctx := context.Background()
	e, err := engine.New(engine.Config{Providers: []backend.Provider{cpu.New(cpu.Options{})}})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = e.Close() }()
	path, f := porep()
	set, err := e.OpenSRS(ctx, path, engine.SRSOptions{})
	if err != nil {
		log.Fatal(err)
	}

	f.Assignment.Aux[0].SetOne() // no longer what the rows were computed from
	p := engine.Partition{Assignment: &f.Assignment, R: f.R, S: f.S}
	_, err = e.Prove(ctx, set, p, engine.DefaultProveOptions())
	fmt.Println("withheld:", errors.Is(err, engine.ErrUnsatisfied))

	opt := engine.DefaultProveOptions()
	opt.Device = 7
	_, err = e.Prove(ctx, set, p, opt)
	fmt.Println(err)

	// Output:
	// withheld: true
	// engine: no such device: device 7, expected -1 (any) or 0 to 0
}

// porep stands for the caller's parameter file and synthesized partition: here
// a small circuit, with the proof that bellperson made of it.
func porep() (path string, f *gv.File) {
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
