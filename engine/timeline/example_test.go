package timeline_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/libcuzk/libcuzk/engine"
	"github.com/libcuzk/libcuzk/engine/backend"
	"github.com/libcuzk/libcuzk/engine/cpu"
	"github.com/libcuzk/libcuzk/engine/timeline"
	"github.com/libcuzk/libcuzk/internal/circuits/gv"
	"github.com/libcuzk/libcuzk/tests/golden"
)

// Whatever runs between Start and Stop is in the file, for Perfetto or
// cuzk-timeline.
func Example() {
	folder, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(folder) }()
	path := filepath.Join(folder, "timeline.json")
	if err := timeline.Start(path); err != nil {
		log.Fatal(err)
	}
	prove()
	if err := timeline.Stop(); err != nil {
		log.Fatal(err)
	}

	data, err := os.ReadFile(path)
	if err != nil {
		log.Fatal(err)
	}
	var events []struct {
		Name  string `json:"name"`
		Phase string `json:"ph"`
	}
	if err := json.Unmarshal(data, &events); err != nil {
		log.Fatal(err)
	}
	for _, e := range events {
		if e.Phase == "X" {
			fmt.Println(e.Name)
		}
	}

	// Unordered output:
	// open
	// quotient
	// classify
	// sums
	// assemble
	// self-check
	// partition
}

// prove makes a proof on the CPU.
func prove() {
	ctx := context.Background()
	e, err := engine.New(engine.Config{Providers: []backend.Provider{cpu.New(cpu.Options{})}})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = e.Close() }()
	c, err := golden.Named("one")
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
}
