package main

import (
	"flag"
	"fmt"
	"io"

	"github.com/libcuzk/libcuzk/internal/circuits/synth"
)

const usage = `Usage: cuzk-gen [flags] PREFIX

Writes a synthetic circuit: PREFIX.params, a valid parameter file, and
PREFIX.gv, an assignment with the proof expected for it. For tests only.

-like sets a whole shape; every other flag changes one thing of it.

`

// parse reads the command line. The shape of -like comes first and the other
// flags are applied to it, wherever they stand.
func parse(args []string, stderr io.Writer) (*request, error) {
	var (
		req   request
		like  = "porep"
		rows  = 1 << 14
		ins   = 4
		shape synth.Shape
	)
	flags := func(output io.Writer) *flag.FlagSet {
		f := flag.NewFlagSet("cuzk-gen", flag.ContinueOnError)
		f.SetOutput(output)
		f.Usage = func() { fmt.Fprint(output, usage); f.PrintDefaults() }
		f.StringVar(&like, "like", like, "shape to start from: porep, sha256 or dense")
		f.IntVar(&rows, "rows", rows, "rows of the constraint system and one for each input")
		f.IntVar(&ins, "inputs", ins, "public inputs, the leading one included")
		f.Uint64Var(&req.seed, "seed", req.seed, "`number` from which everything is drawn")
		shapeFlags(f, &shape)
		return f
	}
	// The first reading finds the preset, the second changes it.
	first := flags(stderr)
	if err := first.Parse(args); err != nil {
		if err == flag.ErrHelp {
			return nil, err
		}
		return nil, errUsage
	}
	if first.NArg() != 1 {
		fmt.Fprintf(stderr, "cuzk-gen: expected one PREFIX, got %d arguments\n", first.NArg())
		first.Usage()
		return nil, errUsage
	}
	presets := map[string]func(rows, inputs int) synth.Shape{
		"porep": synth.PoRepLike, "sha256": synth.SHA256Like, "dense": synth.Dense,
	}
	preset, ok := presets[like]
	if !ok {
		fmt.Fprintf(stderr, "cuzk-gen: -like: expected porep, sha256 or dense, got %q\n", like)
		return nil, errUsage
	}
	shape = preset(rows, ins)
	if err := flags(io.Discard).Parse(args); err != nil {
		return nil, errUsage
	}
	req.prefix, req.shape = first.Arg(0), shape
	return &req, nil
}

func shapeFlags(f *flag.FlagSet, s *synth.Shape) {
	f.IntVar(&s.Aux, "aux", s.Aux, "private variables (default: as many as rows without those of the inputs)")
	share := func(p *float64, name, text string) { f.Float64Var(p, name, *p, "share, 0 to 1, of "+text) }
	share(&s.AAux, "a-aux", "aux that occur in an A form")
	share(&s.BAux, "b-aux", "aux that occur in a B form")
	share(&s.BInputs, "b-inputs", "inputs, without the leading one, that occur in a B form")
	f.BoolVar(&s.BOne, "b-one", s.BOne, "the leading one occurs in a B form")
	share(&s.Values.Zero, "zero", "zeros among aux that occur in no B form")
	share(&s.Values.One, "one", "ones among them")
	share(&s.Values.Small, "small", "values of 2 to 2^16-1 among them; the rest is dense")
	share(&s.ValuesInB.Zero, "b-zero", "zeros among aux that occur in a B form")
	share(&s.ValuesInB.One, "b-one-values", "ones among them")
	share(&s.ValuesInB.Small, "b-small", "values of 2 to 2^16-1 among them")
	share(&s.RowsA.Zero, "rows-a-zero", "rows on which a is 0")
	share(&s.RowsA.One, "rows-a-one", "rows on which a is 1")
	share(&s.RowsB.Zero, "rows-b-zero", "rows on which b is 0")
	share(&s.RowsB.One, "rows-b-one", "rows on which b is 1")
	share(&s.Duplicates, "duplicates", "aux that have the same points as others")
	f.IntVar(&s.DuplicateGroup, "duplicate-group", s.DuplicateGroup, "how many share a point")
	f.BoolVar(&s.Spoil, "spoil", s.Spoil, "make the witness fail on one row; the proof is left out")
	f.IntVar(&s.SpoilRow, "spoil-row", s.SpoilRow, "the row on which it fails")
}
