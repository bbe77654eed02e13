// Command cuzk-bench proves synthetic circuits and prints a table of times.
//
// Parameters and circuits follow from the size, the shape and a seed; nothing
// is read from files. Every proof is verified by pairing and compared, bit for
// bit, with the one computed from the parameters' trapdoor. Times are of whole
// calls, the engine's own check of the proof included.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/libcuzk/libcuzk/cuda"
	"github.com/libcuzk/libcuzk/engine/backend"
	"github.com/libcuzk/libcuzk/engine/cpu"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return
	case errors.Is(err, errUsage):
		os.Exit(2)
	case err != nil:
		fmt.Fprintln(os.Stderr, "cuzk-bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	req, err := parse(args, stderr)
	if err != nil {
		return err
	}
	gpu := cuda.NewProvider(cuda.Options{BudgetBytes: req.budget, StagingThreads: req.staging})
	chosen, device, err := choose(req.device, gpu, cpu.New(cpu.Options{}))
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "%s: %s (%s)\n\n", device.Backend, device.Name, device.Detail)
	table := newTable(stdout)
	for _, log := range req.logs {
		for _, like := range req.shapes {
			c := &benchCase{log: log, like: like, device: device}
			if err := c.run(ctx, chosen, req, table, stderr); err != nil {
				return fmt.Errorf("2^%d, %s: %w", log, like, err)
			}
		}
	}
	return table.footnotes()
}

// choose is the provider with the device asked for, and the device.
func choose(name string, gpu, processor backend.Provider) (backend.Provider, backend.Info, error) {
	var reason error
	if name != "cpu" {
		info, err := firstUsable(gpu)
		if err == nil {
			return gpu, info, nil
		}
		if name == "gpu" {
			return nil, info, err
		}
		reason = err
	}
	info, err := firstUsable(processor)
	if reason != nil {
		info.Detail += fmt.Sprintf("; no GPU: %v", reason)
	}
	return processor, info, err
}

func firstUsable(p backend.Provider) (backend.Info, error) {
	infos, err := p.Devices()
	if err != nil {
		return backend.Info{}, err
	}
	unusable := fmt.Errorf("%s: no device", p.Name())
	for _, info := range infos {
		if info.Unusable == "" {
			return info, nil
		}
		unusable = fmt.Errorf("%s: %s: %s", p.Name(), info.Name, info.Unusable)
	}
	return backend.Info{}, unusable
}
