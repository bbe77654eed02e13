package cuda_test

import (
	"context"
	"fmt"
	"log"

	"github.com/libcuzk/libcuzk/cuda"
	"github.com/libcuzk/libcuzk/engine"
	"github.com/libcuzk/libcuzk/engine/backend"
	"github.com/libcuzk/libcuzk/engine/cpu"
	"github.com/libcuzk/libcuzk/internal/circuits/gv"
	"github.com/libcuzk/libcuzk/tests/golden"
)

// The GPUs first, at most 16 GiB of each, and the CPU where there is none.
func Example() {
	ctx := context.Background()
	e, err := engine.New(engine.Config{Providers: []backend.Provider{
		cuda.NewProvider(cuda.Options{BudgetBytes: 16 << 30}),
		cpu.New(cpu.Options{}),
	}})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = e.Close() }()
	if why := e.GPUReason(); why != "" {
		log.Print("the CPU proves: ", why)
	}

	c, err := golden.Named("mimc")
	if err != nil {
		log.Fatal(err)
	}
	f, err := gv.Read(c.Witnesses[0])
	if err != nil {
		log.Fatal(err)
	}
	set, err := e.OpenSRS(ctx, c.Params, engine.SRSOptions{})
	if err != nil {
		log.Fatal(err)
	}
	p := engine.Partition{Assignment: &f.Assignment, R: f.R, S: f.S}
	proof, err := e.Prove(ctx, set, p, engine.DefaultProveOptions())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("bellperson's proof:", proof == *f.Proof)

	// Output:
	// bellperson's proof: true
}
