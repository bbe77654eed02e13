// Command cuzk-gen writes a synthetic circuit as a pair of files: PREFIX.params,
// a valid parameter file, and PREFIX.gv, an assignment with the proof expected
// for it. Both follow from the shape and the seed alone.
//
// The parameters come from a trapdoor that is known to whoever knows the seed.
// They are for tests and benchmarks only.
package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/libcuzk/libcuzk/engine/groth16"
	"github.com/libcuzk/libcuzk/internal/circuits/synth"
)

func main() {
	err := run(os.Args[1:], os.Stdout, os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return
	case errors.Is(err, errUsage):
		os.Exit(2)
	case err != nil:
		fmt.Fprintln(os.Stderr, "cuzk-gen:", err)
		os.Exit(1)
	}
}

// errUsage: the flag package has said what is wrong.
var errUsage = errors.New("wrong usage")

// request is what the command line asks for.
type request struct {
	prefix string
	seed   uint64
	shape  synth.Shape
}

func run(args []string, stdout, stderr io.Writer) error {
	req, err := parse(args, stderr)
	if err != nil {
		return err
	}
	start := time.Now()
	circuit, err := synth.New(req.shape, req.seed)
	if err != nil {
		return err
	}
	a := circuit.Assignment()
	fmt.Fprintf(stdout, "circuit: %d rows, domain %d, %d inputs, %d aux; a_aux %d, b_inputs %d, b_aux %d; seed %d (%.1f s)\n",
		len(a.A), groth16.Domain(len(a.A)), len(a.Inputs), len(a.Aux),
		a.AAux.Popcount, a.BInputs.Popcount, a.BAux.Popcount, req.seed, time.Since(start).Seconds())

	r, s := circuit.Blinding()
	for _, file := range []struct {
		suffix string
		write  func(io.Writer) error
	}{
		{".params", circuit.WriteParams},
		{".gv", func(w io.Writer) error { return circuit.WriteGV(w, r, s) }},
	} {
		start := time.Now()
		bytes, err := writeFile(req.prefix+file.suffix, file.write)
		if err != nil {
			return err
		}
		fmt.Fprintf(stdout, "%s: %d bytes (%.1f s)\n", req.prefix+file.suffix, bytes, time.Since(start).Seconds())
	}
	return nil
}

// writeFile writes beside the file and then renames, so that a file with the
// wanted name is always whole.
func writeFile(path string, write func(io.Writer) error) (size int64, err error) {
	part := path + ".part"
	f, err := os.Create(part)
	if err != nil {
		return 0, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(part))
		}
	}()
	w := bufio.NewWriterSize(f, 1<<20)
	if err := errors.Join(write(w), w.Flush()); err != nil {
		return 0, errors.Join(err, f.Close())
	}
	info, err := f.Stat()
	if err := errors.Join(err, f.Close()); err != nil {
		return 0, err
	}
	return info.Size(), os.Rename(part, path)
}
