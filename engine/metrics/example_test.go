package metrics_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/libcuzk/libcuzk/engine"
	"github.com/libcuzk/libcuzk/engine/backend"
	"github.com/libcuzk/libcuzk/engine/cpu"
	"github.com/libcuzk/libcuzk/engine/metrics"
	"github.com/libcuzk/libcuzk/tests/golden"
)

// Text is what a program without a registry answers to Prometheus; others
// register metrics.NewCollector(e).
func Example() {
	e, err := engine.New(engine.Config{Providers: []backend.Provider{cpu.New(cpu.Options{})}})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = e.Close() }()
	c, err := golden.Named("one")
	if err != nil {
		log.Fatal(err)
	}
	set, err := e.OpenSRS(context.Background(), c.Params, engine.SRSOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = set.Release() }()

	text, err := metrics.Text(e)
	if err != nil {
		log.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, "parameter_sets") {
			fmt.Print(line)
		}
	}

	// Output:
	// # HELP cuzk_parameter_sets Open parameter sets.
	// # TYPE cuzk_parameter_sets gauge
	// cuzk_parameter_sets 1
}
