package backend_test

import (
	"context"
	"fmt"
	"log"

	"github.com/libcuzk/libcuzk/engine"
	"github.com/libcuzk/libcuzk/engine/backend"
	"github.com/libcuzk/libcuzk/engine/cpu"
	"github.com/libcuzk/libcuzk/engine/groth16"
	"github.com/libcuzk/libcuzk/internal/circuits/gv"
	"github.com/libcuzk/libcuzk/tests/golden"
)

// watched is a provider whose devices tell of every partition that they prove.
type watched struct{ backend.Provider }

func (w watched) Open(ordinal int) (backend.Device, error) {
	d, err := w.Provider.Open(ordinal)
	return watchedDevice{d}, err
}

type watchedDevice struct{ backend.Device }

func (w watchedDevice) Prove(ctx context.Context, t *backend.Partition) (*groth16.Sums, error) {
	sums, err := w.Device.Prove(ctx, t)
	fmt.Printf("%s: %d rows, error %v\n", w.Info().Backend, len(t.Assignment.A), err)
	return sums, err
}

// The engine takes any provider: a program may put its own around one of ours,
// or bring another back end.
func Example() {
	ctx := context.Background()
	e, err := engine.New(engine.Config{Providers: []backend.Provider{watched{cpu.New(cpu.Options{})}}})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = e.Close() }()
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
	if _, err := e.Prove(ctx, set, p, engine.DefaultProveOptions()); err != nil {
		log.Fatal(err)
	}

	// Output:
	// cpu: 646 rows, error <nil>
}
