// Command cuzk-timeline reads a timeline that libcuzk recorded: it prints how
// busy each device was and how long locks were held, and draws a stretch of it.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"
)

const usage = `Usage: cuzk-timeline [flags] FILE

Reads a timeline recorded with CUZK_TIMELINE or cuzk_timeline_start and prints
figures for each device. With -svg it also draws a stretch of it.

`

// request is what the command line asks for.
type request struct {
	path     string
	svg      string
	from, to time.Duration
	width    int
}

// Widths of drawings, in pixels.
const (
	defaultWidth = 1400
	minWidth     = 400
)

func parse(args []string, stderr io.Writer) (*request, error) {
	var q request
	f := flag.NewFlagSet("cuzk-timeline", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.Usage = func() { fmt.Fprint(stderr, usage); f.PrintDefaults() }
	f.StringVar(&q.svg, "svg", "", "draw into this `file`")
	f.DurationVar(&q.from, "from", 0, "begin of the stretch, as 1.5s since the recording began")
	f.DurationVar(&q.to, "to", 0, "end of the stretch; 0: the steady state, or the end with -from")
	f.IntVar(&q.width, "width", defaultWidth, "of the drawing, in `pixels`")
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	switch {
	case f.NArg() != 1:
		return nil, fmt.Errorf("expected one file, got %d", f.NArg())
	case q.from < 0 || q.to < 0 || q.to != 0 && q.to <= q.from:
		return nil, fmt.Errorf("the stretch is from %v to %v, expected a begin before its end", q.from, q.to)
	case q.width < minWidth:
		return nil, fmt.Errorf("-width is %d, expected at least %d", q.width, minWidth)
	}
	q.path = f.Arg(0)
	return &q, nil
}

func run(args []string, stdout, stderr io.Writer) error {
	q, err := parse(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	file, err := os.Open(q.path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	rec, err := read(file)
	if err != nil {
		return fmt.Errorf("%s: %w", q.path, err)
	}
	if q.from > 0 || q.to > 0 {
		rec.window = stretch{q.from.Seconds(), q.to.Seconds()}
		if q.to == 0 {
			rec.window.to = rec.end()
		}
	}
	if err := rec.print(stdout); err != nil {
		return err
	}
	if q.svg == "" {
		return nil
	}
	out, err := os.Create(q.svg)
	if err != nil {
		return err
	}
	return errors.Join(rec.draw(out, q.width), out.Close())
}

func main() {
	if err := run(os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "cuzk-timeline:", err)
		os.Exit(1)
	}
}
