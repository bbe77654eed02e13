package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/libcuzk/libcuzk/engine"
	"github.com/libcuzk/libcuzk/engine/groth16"
)

const usage = `Usage: cuzk-bench [flags]

Proves synthetic circuits, verifies every proof and prints a table of times.

`

// errUsage: standard error has what is wrong.
var errUsage = errors.New("wrong usage")

// request is what the command line asks for.
type request struct {
	logs       []int    // of the domains
	shapes     []string // keys of shapes
	workers    []int
	partitions int
	device     string
	budget     uint64 // bytes
	staging    int    // goroutines; 0 is the default
	seed       uint64
	timelines  string // folder
}

func parse(args []string, stderr io.Writer) (*request, error) {
	var req request
	var sizes, shapeNames, workers string
	var budgetMiB uint64
	f := flag.NewFlagSet("cuzk-bench", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.Usage = func() { fmt.Fprint(stderr, usage); f.PrintDefaults() }
	f.StringVar(&sizes, "sizes", "14,16,18", "logarithms of the domain `sizes`, as 14,16 or 14-18")
	f.StringVar(&shapeNames, "shapes", "porep", "`shapes` of circuits: porep, dense or both, as porep,dense")
	f.StringVar(&workers, "workers", "1", "`numbers` of workers to measure with, as 1,2,3")
	f.IntVar(&req.partitions, "n", 10, "partitions for each size, shape and number of workers")
	f.StringVar(&req.device, "device", "auto", "gpu, cpu, or auto: the GPU if there is one")
	f.Uint64Var(&budgetMiB, "budget", 0, "card memory to use, in `MiB`, our context included; 0 is what is free, less 5 %")
	f.IntVar(&req.staging, "staging", 0, "goroutines that copy inputs into pinned memory; 0 is 7/8 of the cores, at most 16")
	f.StringVar(&req.timelines, "timelines", "", "`folder` to record a timeline of each measurement in, as porep-22-3.json: for cuzk-timeline")
	f.Uint64Var(&req.seed, "seed", 1, "`number` from which circuits are drawn")
	if err := f.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil, err
		}
		return nil, errUsage
	}
	req.budget = budgetMiB << 20
	var err error
	switch {
	case f.NArg() > 0:
		err = fmt.Errorf("expected only flags, got %q", f.Arg(0))
	case req.partitions < 1:
		err = fmt.Errorf("-n: expected at least 1, got %d", req.partitions)
	case req.staging < 0:
		err = fmt.Errorf("-staging: expected at least 0, got %d", req.staging)
	case req.device != "auto" && req.device != "gpu" && req.device != "cpu":
		err = fmt.Errorf("-device: expected auto, gpu or cpu, got %q", req.device)
	}
	if err == nil {
		req.logs, err = numbers("-sizes", sizes, 1, groth16.MaxLogDomain)
	}
	if err == nil {
		req.workers, err = numbers("-workers", workers, 1, engine.MaxWorkers)
	}
	for _, name := range strings.Split(shapeNames, ",") {
		if _, ok := shapes[name]; !ok && err == nil {
			err = fmt.Errorf("-shapes: expected porep or dense, got %q", name)
		}
		req.shapes = append(req.shapes, name)
	}
	if err != nil {
		fmt.Fprintln(stderr, "cuzk-bench:", err)
		f.Usage()
		return nil, errUsage
	}
	return &req, nil
}

// numbers reads a list as 1,2,5 or 1-5, each of least to most.
func numbers(name, text string, least, most int) (out []int, err error) {
	for _, part := range strings.Split(text, ",") {
		low, high, isRange := strings.Cut(part, "-")
		if !isRange {
			high = low
		}
		from, err := strconv.Atoi(low)
		to, err2 := strconv.Atoi(high)
		if err = errors.Join(err, err2); err != nil || from < least || to > most || from > to {
			return nil, fmt.Errorf("%s: expected numbers or ranges of %d to %d, got %q", name, least, most, part)
		}
		for n := from; n <= to; n++ {
			out = append(out, n)
		}
	}
	return out, nil
}
